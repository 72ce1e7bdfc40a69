"""Pictures, with Matplotlib (the extra ``penstock[plot]``), which is imported when one is drawn."""
