"""The use cases: what the product does, over ports that it declares itself.

May import domain; never a driver, a web framework or the event-sourcing library.
"""
