"""The log as people search it: who, what and when, newest first; never what is held.

The log has no indexes beside its streams and its positions, so that writing stays
cheap.  A search without a stream walks along the positions, so far a page; a story is
looked for in the streams that read models know it by.
"""
