"""Files of other programs: ARPA tables, vectors as safetensors.

Take arrays and give files, or the other way round; tasks wrap them into runs.
"""
