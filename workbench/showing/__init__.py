"""The parts of what is shown: tables, legend, reasons, panels of figures, and the notebooks' way to HTML.

Matrix, figures, Versions, Sources and report, one floor up, are what a page calls.
"""
