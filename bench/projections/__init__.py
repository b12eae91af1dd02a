"""Read models made anew from a long log, beside the library's own runner."""
