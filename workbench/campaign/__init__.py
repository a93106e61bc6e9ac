"""What a campaign found: trials that were planned to answer a public report, as the parts of its page.

Pure: reads stored results. Every sentence names the trials that it rests on; where there are none, it says so.
"""

from workbench.campaign.advice import advice
from workbench.campaign.changes import changes
from workbench.campaign.equal import equal_tactics
from workbench.campaign.nulls import nulls
from workbench.campaign.open import not_run
from workbench.campaign.ran import ended, ran
from workbench.campaign.tuned import tuned

__all__ = ["advice", "changes", "ended", "equal_tactics", "not_run", "nulls", "ran", "tuned"]
