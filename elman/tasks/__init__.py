"""What people do with models, in text: train, load, measure, generate, suggest, compare.

Takes text and paths, gives plain data; called by the door and the command line.
"""
