# %% [markdown]
# # Fit your own choices
#
# You have a table of choices in a two-step task, made by people or by an agent, and want to know
# which strategies explain them. This notebook fits such a table, checks the fit, compares models,
# asks whether there is enough data, and compares an agent with the people. It runs on an example;
# give it the name of your own file instead.
#
# In the two-step task an action leads *commonly* to one state and *rarely* to the other, and the
# state pays or does not. Who repeats whatever paid is *model-free*; who asks which action leads to
# the state that paid is *model-based*. In the episodic version some choices come with a cue, which
# brings back one earlier episode. So there are four strategies:
#
# | strategy | looks at the previous episode | looks at the cued episode |
# |---|---|---|
# | model-free | IMF | EMF |
# | model-based | IMB | EMB |
#
# Without cues it is the classic task, and there are two.

# %%
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt

import reinstate
from reinstate.choices import recovery
from reinstate.choices.model import from_record
from reinstate.runs.choice_fits import EXAMPLE, write_example

BLUE, GREEN, GREY = "#0072B2", "#009E73", "#6E7781"


# %% [markdown]
# ## The table
#
# One row per episode. This is the file that the repository has as `examples/two-step-choices.csv`:
# four simulated participants, so that we know what should come out.

# %%
folder = tempfile.TemporaryDirectory()
file = Path(folder.name) / "choices.csv"  # or your own
write_example(file)
lines = file.read_text(encoding="utf-8").splitlines()
print(*lines[:4], "…", *lines[60:63], sep="\n")

# %% [markdown]
# `action` and `state` may have any two labels. Where a row is cued, `cue_episode` says of which
# earlier episode of the session the cue is. Columns may have other names, and `session`, `episode`
# and the cues may be missing: the end of this notebook has such a table.
#
# ## Fit
#
# One call. Each participant's choices are explained by a weight per strategy, in log odds: 0 is no
# influence, and 1 by itself makes the action that the strategy prefers nearly three times as likely
# as the other.

# %%
found = reinstate.fit_choices(file, compare=True)
print(found.summary())

# %% [markdown]
# There are three things to read in it.
#
# - *Weights*, with intervals over participants. Model-based weights stand out, incremental ones
#   everywhere, episodic ones where there are cues. Two more weights take care of a liking for one
#   action (bias) and of repetition whatever the outcome (perseveration).
# - *Models*, the best first. `compare=True` adds rivals to the model that was fitted. Leaving out a
#   strategy that nobody uses makes a model better by BIC; leaving out one that matters makes it far
#   worse.
# - *Stay probabilities*, by how the earlier episode went, and what the fitted model predicts for
#   them. Where the two differ, the model misses something.
#
# `found.plot()` shows the same: filled points with intervals are the participants, small points are
# single ones, rings are the model's predictions.

# %%
found.plot()

# %% [markdown]
# Since the participants are simulated, we know around which values their weights were drawn.
# `participants` has one row per participant, part and weight, and
# `pandas.DataFrame(found.participants)` makes a table of it.

# %%
print("weight  around  " + "  ".join(f"{name:>5}" for name in ("p1", "p2", "p3", "p4")))
for strategy in ("IMF", "IMB", "EMF", "EMB"):
    rows = [r for r in found.participants if r["strategy"] == strategy and r["part"] == "cued"]
    fitted = "  ".join(f"{row['estimate']:5.2f}" for row in rows)
    print(f"{strategy:6}  {EXAMPLE[strategy]:6.2f}  {fitted}")

# %% [markdown]
# ## Is there enough data?
#
# The intervals above are wide, and four people are few. Would more episodes help? A simulation can
# tell, at your own design: agents of known weights play as much as your participants did, and are
# fitted by the same model. `found.recovery()` takes the design as it is. Four agents would say
# little here, so we take a hundred that play like ours.

# %%
design = found["data"]["design"]
print({name: round(value, 2) for name, value in design.items()})
mine = recovery(**{**design, "participants": 100})
print("part    weight         correlation with the true one   size of the error")
for row in mine["weights"]:
    name = f"{row['part']:7} {row['strategy']:14}"
    print(f"{name} {row['correlation']:28.2f} {row['rmse']:19.2f}")

# %% [markdown]
# Or before you collect anything, at designs that you have in mind. Here are a hundred agents with
# weights between −0.5 and 2, and one session of so many episodes, half of them cued:

# %%
lengths = (50, 100, 200, 400, 800)
designs = [recovery(participants=100, sessions=1, episodes=n, cued=0.5) for n in lengths]
figure, axes = plt.subplots(figsize=(6.5, 3.6), layout="constrained")
for part, strategy, colour in (("uncued", "IMB", BLUE), ("cued", "EMB", GREEN)):
    of = [
        row["correlation"]
        for recovered in designs
        for row in recovered["weights"]
        if (row["part"], row["strategy"]) == (part, strategy)
    ]
    axes.plot(lengths, of, "o-", color=colour, label=f"{strategy}, {part} choices")
axes.set(xscale="log", xticks=lengths, xticklabels=lengths, ylim=(0, 1))
axes.minorticks_off()
axes.set(xlabel="episodes per participant", ylabel="correlation of true\nand recovered weights")
axes.legend(frameon=False, loc="lower right")
plt.show()

# %% [markdown]
# If you want to relate people's weights to another measure, this is a ceiling: a fitted weight
# cannot be expected to correlate more with anything else than with the true one.
#
# ## An agent compared with the people
#
# What would an agent with an episodic memory do? One that was trained on this task comes with the
# package. It plays a hundred sessions, and its choices go through the same fit.

# %%
trained = reinstate.load("two-step/epl2rl")
agent = reinstate.fit_choices(from_record(trained.record()))
for part, strategy in (("uncued", "IMB"), ("cued", "IMB"), ("cued", "EMB")):
    weight = agent["group"][part][strategy]["mean"]
    print(f"{part:7} {strategy}: {weight:.1f}")
found.plot(beside={"epL2RL": agent})

# %% [markdown]
# The agent hardly ever makes an exception. Without a cue it is model-based about the previous
# episode; with one, it drops that and is model-based about the cued episode. The participants of
# the example mix both.
#
# ## A table of another kind
#
# Your data will look different. A table may be a file (CSV, Parquet), a data frame or a dict of
# columns, with names and labels of its own. Here is the classic task without cues, rewards are −1
# and 1, rows are in order, and "left" commonly leads to "pink". It is too small to say anything.

# %%
table = {
    "who": ["ann"] * 6 + ["bob"] * 6,
    "choice": ["left", "left", "right", "left", "right", "right"] * 2,
    "planet": ["pink", "blue", "blue", "pink", "pink", "blue"] * 2,
    "points": [1, -1, 1, 1, -1, -1] * 2,
}
names = {"participant": "who", "action": "choice", "state": "planet", "reward": "points"}
small = reinstate.fit_choices(table, columns=names, common={"left": "pink"}, signed_rewards=True)
print(small)

# %% [markdown]
# What makes no sense is refused, with its place and the reason:

# %%
table["points"][3] = 7
try:
    reinstate.fit_choices(table, columns=names, common={"left": "pink"}, signed_rewards=True)
except reinstate.UserError as error:
    print(error)

# %% [markdown]
# ## And on the command line
#
# ```
# reinstate fit-choices choices.csv --compare
# reinstate fit-choices choices.csv --recover like-mine
# reinstate evaluate two-step/epl2rl --choices agent.csv
# reinstate fit-choices choices.csv --beside agent.csv
# ```
#
# With few choices per person, `fit_choices(file, "hierarchical")` lets participants inform each
# other; it needs `pip install -e ".[fit]"` and about a minute. `fit_choices(file, "learned")`
# replaces the previous episode by values learned over the session.
# [The how-to page](../how-to/fit-choices.md) has all options.
