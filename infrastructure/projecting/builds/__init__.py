"""Read models made anew in their spare table, and compared with what is live.

claim       one builder of a projection at a time, for as long as its process lives
spare       what is under way in the spare table: begun, resumed, dropped
emptying    the spare table is emptied
folding     the spare table is brought up to a position
promotion   the swap: the spare table is live
rebuild     fold from zero, then swap
comparison  two tables of one shape, row by row
verify      fold from zero to where the live one is, then compare

A builder has a connection and the spare table, and projections only compute: so a
replay writes rows, its checkpoint and what it set aside, and can do nothing else.
"""
