"""The registry itself: requests to it, and how it is reached."""
