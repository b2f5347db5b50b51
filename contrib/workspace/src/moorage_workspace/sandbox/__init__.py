"""Where commands run: the port, the local sandbox behind it, and what both share."""
