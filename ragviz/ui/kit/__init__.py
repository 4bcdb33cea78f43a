"""What every page is built of. A page asks, computes, and shows with these.

What is shown is text of other people: every function here escapes what it is given but for markdown that is asked for
by its name (`lead`, `above`, `sentence`). A choice that changes the picture stands in the address (`ui/address.py`).
"""
