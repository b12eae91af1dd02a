"""One action on many things: asked for, previewed, approved of, and carried out."""
