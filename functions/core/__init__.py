"""The domain: what a delivery is, when it is due, whether it may be sent and what an answer means.

Nothing here reads a clock, the environment, a table or a socket; all of that comes in as parameters.
"""
