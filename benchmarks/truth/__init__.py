"""Every timer on the same calls in one sitting: `python -m benchmarks.truth`."""
