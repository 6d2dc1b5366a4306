"""File formats of other programs: ARPA tables, vectors as safetensors.

They convert arrays to files and back; tasks wrap the results into runs.
"""
