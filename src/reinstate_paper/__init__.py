"""The study of Ritter et al. (2018): experiments, presets, claims, Omniglot's embedder, figures.

It registers with the library by entry points, as any package of others does.
"""

# In the order of the paper.
PAPER_EXPERIMENTS = (
    "barcode-bandits",
    "omniglot-bandits",
    "compositional-bandits",
    "water-maze",
    "two-step",
)
