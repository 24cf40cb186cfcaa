# %% [markdown]
# # Watch a state come back
#
# A meta-learning agent is a recurrent network that explores a new task, finds out what pays, and
# forgets all of it when the task ends. The episodic LSTM of Ritter et al. (2018) keeps it. When a
# task ends, the cell state is stored under the task's *context*. When the same context is seen
# again, that state comes back through a gate, and the agent continues where it had stopped.
#
# In two minutes on a CPU you will see this happen in four places: in the cell by itself, in a small
# agent trained here, in the states that it stores, and in an agent that comes with the package.
#
# Some words: a *step* is one action and its reward, an *episode* is one visit to one task, and an
# *epoch* is a row of episodes during which the memory lives. The *exposure* counts how often a
# context has been met in an epoch, this time included.

# %%

import jax
import jax.numpy as jnp
import matplotlib.pyplot as plt
import numpy as np

import reinstate
from reinstate.analysis.memory_map import memory_map, stored_states
from reinstate.evaluation import Condition, Evaluation
from reinstate.figures import memory_map as map_figure
from reinstate.tasks.bandits import BarcodeBandits

BLUE, ORANGE, GREY = "#0072B2", "#D55E00", "#6E7781"


# %% [markdown]
# ## The cell by itself
#
# The epLSTM is an LSTM with one more gate, r, and one more input, the retrieved state c_ep:
#
# ```text
# c_t = i ∘ c_in + f ∘ c_{t-1} + r ∘ c_ep
# ```
#
# `EpisodicLSTMCell` is that equation, and `DND` is the memory: a dictionary that finds the nearest
# key. Nothing here is trained; the weights are random. We run an episode of ten random inputs and
# store the last cell state under a key.

# %%
cell = reinstate.EpisodicLSTMCell(input_size=16, hidden_size=64, key=jax.random.key(0))
memory = reinstate.DND(capacity=10)
contents = memory.empty(key_size=8, value_size=64)
key = jnp.array([1.0, 0, 1, 1, 0, 0, 1, 0])

state = cell.initial_state()
for x in jax.random.normal(jax.random.key(1), (10, 16)):
    state, gates = cell(x, state)
stored = state.c
contents = memory.write(contents, key, stored)

# %% [markdown]
# A new episode starts from zeros and sees other inputs. Once it is given what the memory finds for
# the same key, once it is given nothing. How similar is its cell state to the stored one?

# %%
found, contents = memory.read(contents, key)


def similarity(c_ep: jax.Array | None) -> list[float]:
    """Return the cosine of the angle between the cell state and the stored one, step by step."""
    state, seen = cell.initial_state(), []
    for x in jax.random.normal(jax.random.key(2), (10, 16)):
        state, _ = cell(x, state, c_ep)
        seen.append(state.c @ stored / jnp.linalg.norm(state.c) / jnp.linalg.norm(stored))
    return [float(each) for each in seen]


figure, axes = plt.subplots(figsize=(6, 3.2), layout="constrained")
axes.plot(range(1, 11), similarity(found.value), "o-", color=BLUE, label="with the memory")
axes.plot(range(1, 11), similarity(None), "o-", color=ORANGE, label="without")
axes.axhline(0, color=GREY, linewidth=0.8)
axes.set(
    xlabel="step of the new episode", ylabel="similarity to the stored state", ylim=(-0.5, 1.1)
)
axes.legend(frameon=False, loc="lower right", ncols=2)
plt.show()

# %% [markdown]
# With the memory the state resembles the old one from the first step on, whatever the inputs are;
# without, only by chance. What an untrained cell cannot know is *when* to let a memory in, and what
# a state should hold to be of any use later. That is learned.
#
# ## A small training
#
# In barcode bandits a context is a random barcode. Behind each barcode is one arm that pays nearly
# always; the others hardly ever do. Each of six barcodes is shown in five episodes, in random
# order, and the next epoch has new ones: nothing about a barcode can be learned by heart. `epl2rl`
# is the agent with the memory, `l2rl` the same network without.

# %%
world = BarcodeBandits(num_arms=4, num_contexts=6, repeats=5, pulls=6)
agents = {
    name: reinstate.train(world, name, epochs=80, lanes=32, quiet=True)
    for name in ("epl2rl", "l2rl")
}
for trained in agents.values():
    print(trained)

# %% [markdown]
# `record` plays fresh epochs with frozen weights and returns every step, as arrays of (seeds,
# epochs, episodes, steps).

# %%
records = {name: trained.record() for name, trained in agents.items()}


def by_exposure(values: np.ndarray, exposure: np.ndarray) -> np.ndarray:
    """Average over all episodes at each exposure."""
    return np.stack([values[exposure == e].mean(axis=0) for e in range(world.repeats)])


exposure = records["epl2rl"].exposure  # (seeds, epochs, episodes), from 0
figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.2), layout="constrained")
for (name, trained), colour in zip(agents.items(), (BLUE, ORANGE), strict=True):
    left.plot(trained.rewards[:, 0], color=colour, label=name)
    reward = by_exposure(records[name].reward.sum(axis=-1), records[name].exposure)
    right.plot(range(1, world.repeats + 1), reward, "o-", color=colour, label=name)
    print(f"{name:7} reward per episode, by exposure: {reward.round(1)}")
left.set(xlabel="epoch of training", ylabel="reward per episode", ylim=(0, 6))
right.set(xlabel="exposure to the context", ylabel="reward per episode", ylim=(0, 6))
right.set_xticks(range(1, world.repeats + 1))
right.legend(frameon=False, loc="lower right")
plt.show()

# %% [markdown]
# Look at the right panel. At the first exposure both have to search. From the second on, the agent
# with the memory knows the arm; for the other, every visit is the first. (At the first exposure the
# memory even costs a little. We will see why.)
#
# ## The gate
#
# Each record holds the gates, averaged over units. Here is the r-gate over the pulls of an episode
# and, next to it, how often the good arm was pulled, at exposures 1 and 2.

# %%
record = records["epl2rl"]
gate = by_exposure(record.report["r"], exposure)
right_arm = by_exposure(record.action == record.trace.good_arm, exposure)
pulls = range(1, world.pulls + 1)
figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.2), layout="constrained")
for e, colour in ((0, GREY), (1, BLUE)):
    left.plot(pulls, gate[e], "o-", color=colour, label=f"exposure {e + 1}")
    right.plot(pulls, right_arm[e], "o-", color=colour, label=f"exposure {e + 1}")
left.set(xlabel="pull", ylabel="r-gate, mean over units", ylim=(0, 0.6))
right.set(xlabel="pull", ylabel="share on the good arm", ylim=(0, 1))
right.axhline(1 / world.num_arms, color=GREY, linestyle=":")
right.annotate("chance", (world.pulls, 1 / world.num_arms - 0.07), ha="right", color=GREY)
left.legend(frameon=False)
plt.show()

# %% [markdown]
# The gate is widest on the first pull, when there is nothing else to go by, and then closes. It
# does so at *both* exposures, and on the first pull it is exactly the same: only the memory sees
# the barcode, so the agent cannot tell a new one from an old one. What differs is what comes
# through the gate. At exposure 2 it is the state in which the agent left this very bandit, and most
# first pulls are right already.
#
# ## Which episode came back?
#
# `record.retrieved` is the number of the episode whose state was retrieved. Below is one epoch.
# Each line falls from an episode to the earlier one that it brought back.

# %%
retrieved, context = record.retrieved[0, 0, :, 0], record.context_id[0, 0]
episodes = np.arange(world.episodes_per_epoch)
some = retrieved >= 0
same = some & (context[np.maximum(retrieved, 0)] == context)
figure, axes = plt.subplots(figsize=(6, 4), layout="constrained")
axes.plot(episodes + 1, episodes + 1, color=GREY, linewidth=0.8)
of = {"of the same context": (same, BLUE), "of another context": (some & ~same, ORANGE)}
for label, (shown, colour) in of.items():
    axes.plot(1 + episodes[shown], 1 + retrieved[shown], "o", color=colour, label=label)
    axes.vlines(1 + episodes[shown], 1 + retrieved[shown], 1 + episodes[shown], colour, alpha=0.3)
axes.set(xlabel="episode", ylabel="episode that came back")
axes.legend(frameon=False, title="what came back is", alignment="left")
plt.show()
known = exposure[0, 0] > 0
print(f"contexts met before: {known.sum()}, of which {same[known].sum()} brought back their own")
print(f"new contexts: {(~known).sum()}, of which {some[~known].sum()} brought back another's")

# %% [markdown]
# A context met before always brings back its own last episode, however long ago. A new context has
# none, so the nearest key wins, and the agent gets a state that does not belong here: the orange
# points. That is what the memory costs at the first exposure. (An agent that can tell the two apart
# is the subject of [recognition](../recognition.md).)
#
# ## The memory map
#
# What is in a stored state? Every point below is one of them, placed where the states differ most.
# Its colour says which arm was the good one, which nobody told the agent. The number above a panel
# is the share of states whose nearest neighbour is of the same arm.

# %%
player = agents["epl2rl"].player()
condition = Condition(world, reinstate.DND(capacity=world.num_contexts))
states = stored_states(condition, player, Evaluation(epochs=20), seed=0)
map_figure.draw(memory_map(states, exposures=(1, 2, 5)))

# %% [markdown]
# After one exposure the states of one arm begin to lie together, though they are of different
# barcodes in different epochs. After five there are four heaps. The agent has found a code for "arm
# 3 pays", and that code is what the memory keeps.
#
# ## A trained agent, at once
#
# Agents trained at full length come with the package. This one plays ten arms. Let us be its
# bandit: arm 4 always pays, the others never do. The agent is called step by step, and what it
# stores goes into a memory under a barcode.

# %%
trained = reinstate.load("barcode-bandits/epl2rl")
player = trained.player()
step = jax.jit(player.__call__)
barcode = jnp.array([1.0, 0, 1, 1, 0, 0, 1, 0, 1, 0])
ARMS, PULLS, GOOD = 10, 10, 3  # arms count from 0 here


def play(c_ep: jax.Array, seed: int) -> tuple[jax.Array, np.ndarray, list[int]]:
    """Play one episode; return what it stores, the policy on every pull, and the pulls."""
    state, action, reward = player.initial_state(), jnp.int32(-1), jnp.float32(0)
    policy, actions = [], []
    for key in jax.random.split(jax.random.key(seed), PULLS):
        inputs = reinstate.Inputs(jnp.zeros(0), barcode, action, reward, first_shown=action < 0)
        state, decision = step(inputs, c_ep, state)
        action = jax.random.categorical(key, decision.logits).astype(jnp.int32)
        reward = (action == GOOD).astype(jnp.float32)
        policy.append(jax.nn.softmax(decision.logits))
        actions.append(int(action))
    inputs = reinstate.Inputs(jnp.zeros(0), barcode, action, reward, first_shown=False)
    state, _ = step(inputs, c_ep, state)  # it sees its last reward
    return player.to_store(state), np.stack(policy), actions


memory = reinstate.DND(capacity=10)
contents = memory.empty(key_size=10, value_size=player.value_size)
episodes = {}
for visit in (1, 2):
    found, contents = memory.read(contents, barcode)  # zeros while the memory is empty
    last_state, policy, actions = play(found.value, seed=visit - 1)
    contents = memory.write(contents, barcode, last_state)
    episodes[visit] = policy, actions
    print(f"exposure {visit}, arms pulled: {[arm + 1 for arm in actions]}")

# %%
figure, panels = plt.subplots(1, 2, figsize=(9, 3.8), layout="constrained", sharey=True)
for axes, (visit, (policy, actions)) in zip(panels, episodes.items(), strict=True):
    image = axes.imshow(policy.T, cmap="Blues", vmin=0, vmax=1, extent=(0.5, 10.5, 10.5, 0.5))
    paid = np.array(actions) == GOOD
    at, arms = np.arange(1, PULLS + 1), np.array(actions) + 1
    axes.plot(at[~paid], arms[~paid], "o", mfc="none", color=ORANGE, label="pulled, did not pay")
    axes.plot(at[paid], arms[paid], "o", color=ORANGE, label="pulled, paid")
    axes.set(title=f"exposure {visit}", xlabel="pull", xticks=at, yticks=range(1, ARMS + 1))
panels[0].set_ylabel("arm")
panels[1].legend(loc="lower right", fontsize=8)
figure.colorbar(image, ax=panels, label="probability of the arm")
plt.show()

# %% [markdown]
# That is a state coming back. In the left panel the policy starts spread out, each failure takes an
# arm away, and after the first hit it stays. In the right panel the search is over before it
# begins: one read of the memory, and on its first pull the agent is as sure as it was on its last.
#
# Was this a lucky pick? `record` plays a hundred epochs of the real task, with chance in every
# pull:

# %%
record = trained.record()
reward = record.reward.sum(axis=-1)
for e in (0, 1, 2, 9):
    first = (record.action == record.trace.good_arm)[..., 0][record.exposure == e].mean()
    mean = reward[record.exposure == e].mean()
    print(f"exposure {e + 1:2}: first pull right {first:4.0%}, reward {mean:.1f} of 10")

# %% [markdown]
# At the first exposure it does *worse* than chance, which is 10%. Each arm is the good one of one
# barcode only, and the state that comes back is of another barcode. From the second exposure on,
# this pays.
#
# Where to go from here: `reinstate watch barcode-bandits` plays such episodes in a terminal, pull
# by pull; [work in a notebook](../how-to/notebook.md) has more of `train`, `record` and `load`; and
# [your own task](your_own_task.ipynb) is the next notebook.
