"""What pages show beside the matrix and the figures: one module for each part of a page, from stored results alone.

Pages 05 and 06 have packages of their own for their parts: `evidence` and `campaign`.
"""
