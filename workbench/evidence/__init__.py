"""What forensic attempts found, as tables that show themselves: the parts of the page on forensics.

Pure: reads stored results. Nothing here judges a trial; a latent fault stands beside a verdict and has no vote in it.
"""

from workbench.evidence.against import against
from workbench.evidence.attributed import attributed
from workbench.evidence.canaries import canaries
from workbench.evidence.fenced import fenced
from workbench.evidence.instruments import planted, zoo
from workbench.evidence.located import located

__all__ = ["against", "attributed", "canaries", "fenced", "located", "planted", "zoo"]
