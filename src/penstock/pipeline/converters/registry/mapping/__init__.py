"""What the mappings of the three formats share: names, orders of maps, schemas being built, and schemas that contain
themselves.
"""
