"""Train the embedder on the background characters, after Kaiser et al. 2017.

An epoch shows a set of characters several times: each of them once, in random order, then each
once more, always another drawing. The memory starts the epoch empty and lives exactly that long,
so that a character can only be told from others on its first showing, and also matched later.
This is Kaiser's batch of episodes (16 episodes of 5 characters, 6 showings, a weight update every
16 drawings), in which each update takes a random part of one showing. Characters turned by 90°,
180° and 270° count as different characters, but an epoch shows each in one orientation only: a
ring must not be its own counterexample.
"""

from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jax import Array

from reinstate.errors import (
    UserError,
    require_choices,
    require_not_negative,
    require_positive,
    require_probability,
    require_seed,
    require_within,
)
from reinstate_paper.omniglot.distortion import Distortion, distorted, turned
from reinstate_paper.omniglot.embedder import SIZE, Convolutions, Embedder, Precision
from reinstate_paper.omniglot.lifelong import LifelongMemory, Slots


@dataclass(frozen=True)
class Pretraining:
    """Everything that decides which embedder is learned."""

    seed: int = 0
    epochs: int = 8000
    """Epochs of training; in each the memory starts empty."""
    characters: int = 80
    """Characters shown per epoch."""
    showings: int = 6
    """Showings of each character per epoch, always another drawing."""
    batch: int = 16
    """Drawings per update of the weights; must divide the characters."""
    learning_rate: float = 1e-4
    """Adam's learning rate, after the warm-up."""
    learning_rate_end: float = 1e-4
    """Learning rate at the end of training, reached along a cosine."""
    warmup: float = 0.0
    """The share of training in which the learning rate rises from 0."""
    adam_epsilon: float = 1e-8
    """What Adam adds to its divisor."""
    weight_decay: float = 0.0
    """Pull of the weights towards 0, relative to the learning rate (Loshchilov & Hutter 2019)."""
    max_grad_norm: float = 5.0
    """Gradients are clipped to this global norm."""
    average: float = 0.0
    """Decay per update of the running mean of weights, which is kept; 0: keep the last weights."""
    dropout: float = 0.0
    """The share of features dropped before the linear layer in training, drawn per drawing."""
    precision: Precision = "default"
    """Precision of the convolutions in training; embeddings always have full precision."""
    network: Convolutions = field(default_factory=Convolutions)
    memory: LifelongMemory = field(default_factory=LifelongMemory)
    distortion: Distortion = field(default_factory=Distortion)

    def __post_init__(self) -> None:
        positive = "epochs", "characters", "showings", "batch", "learning_rate", "max_grad_norm"
        require_positive(**{name: getattr(self, name) for name in positive})
        require_not_negative(
            learning_rate_end=self.learning_rate_end, weight_decay=self.weight_decay
        )
        require_within(1e-30, 1e30, adam_epsilon=self.adam_epsilon)
        require_probability(warmup=self.warmup, average=self.average, dropout=self.dropout)
        require_choices(self)
        require_seed(seed=self.seed)
        if self.dropout == 1:
            raise UserError("dropout = 1 would leave nothing to learn from: lower it")
        if self.characters % self.batch:
            raise UserError(
                f"batch = {self.batch} must divide the epoch's {self.characters} characters"
            )
        if self.memory.slots < 2 * self.batch:
            raise UserError(
                f"memory.slots = {self.memory.slots} must be at least twice the batch of"
                f" {self.batch}"
            )
        require_positive(updates=self.updates)

    @property
    def updates_per_epoch(self) -> int:
        return self.characters // self.batch * self.showings

    @property
    def updates(self) -> int:
        return self.epochs * self.updates_per_epoch


class State(NamedTuple):
    """All that training carries from one epoch to the next."""

    params: Embedder  # the arrays; everything else of it is static
    average: Embedder
    opt_state: Any
    key: Array  # of the seed: epoch n draws from fold_in(key, n), so a resumed run draws the same
    epoch: Array  # () epochs done


class EmbedderMetrics(NamedTuple):
    """What an epoch tells about itself."""

    loss: Array
    right: Array  # share of drawings whose nearest key was right, without the first showing
    finite: Array  # whether all losses and weights are


class Lesson(NamedTuple):
    """What one update sees."""

    drawings: Array  # (batch,) indices into (characters × drawers)
    turns: Array  # (batch,) quarter turns
    labels: Array  # (batch,)
    key: Array
    update: Array  # () updates done before this one


class Teacher:
    """Training as pure functions of the state and the images."""

    def __init__(self, settings: Pretraining) -> None:
        self.settings = settings
        adam = optax.adamw(
            self.learning_rate,
            eps=settings.adam_epsilon,
            weight_decay=settings.weight_decay,
            mask=partial(jax.tree.map, lambda w: w.ndim > 1),  # biases and scales are left alone
        )
        clip = optax.clip_by_global_norm(settings.max_grad_norm)
        self.optimizer: optax.GradientTransformation = optax.chain(clip, adam)
        template = eqx.filter_eval_shape(Embedder, settings.network, key=jax.random.key(0))
        self._static = eqx.partition(template, eqx.is_array_like)[1]

    def learning_rate(self, update: Any) -> Array:
        """Rise on a line to the learning rate, then fall along half a cosine to its end."""
        s = self.settings
        rise = max(s.warmup * s.updates, 1.0)
        fall = jnp.clip((update - rise) / max(s.updates - rise, 1.0), 0, 1)
        high = (s.learning_rate - s.learning_rate_end) * (1 + jnp.cos(jnp.pi * fall)) / 2
        return jnp.minimum((update + 1) / rise, 1.0) * (s.learning_rate_end + high)

    def embedder(self, params: Embedder) -> Embedder:
        """Return the embedder with these weights."""
        return eqx.combine(params, self._static)

    def init(self) -> State:
        weights_key, key = jax.random.split(jax.random.key(self.settings.seed))
        params = eqx.filter(Embedder(self.settings.network, key=weights_key), eqx.is_array)
        return State(params, params, self.optimizer.init(params), key, jnp.zeros((), jnp.int32))

    def train_epoch(self, state: State, images: Array) -> tuple[State, EmbedderMetrics]:
        """Train one epoch on images (characters, drawers, 28, 28) with ink from 0 to 255."""
        s = self.settings
        lessons = self.plan(jax.random.fold_in(state.key, state.epoch), images.shape[:2])
        done = state.epoch * s.updates_per_epoch + jnp.arange(s.updates_per_epoch)
        flat = images.reshape(-1, SIZE, SIZE)
        memory = s.memory.empty(s.network.embedding_size)
        (params, average, opt_state, _), (losses, right) = jax.lax.scan(
            partial(self._update, flat),
            (state.params, state.average, state.opt_state, memory),
            lessons._replace(update=done),
        )
        later = right[s.characters // s.batch :] if s.showings > 1 else right
        finite = [jnp.all(jnp.isfinite(leaf)) for leaf in jax.tree.leaves((losses, params))]
        metrics = EmbedderMetrics(jnp.mean(losses), jnp.mean(later), jnp.all(jnp.stack(finite)))
        return State(params, average, opt_state, state.key, state.epoch + 1), metrics

    def plan(self, key: Array, shape: tuple[int, ...]) -> Lesson:
        """Draw which drawings an epoch shows; every field has a leading axis of updates."""
        s = self.settings
        characters, drawers = shape
        keys = jax.random.split(key, 5)
        chosen = jax.random.permutation(keys[0], characters)[: s.characters]
        turns = jax.random.randint(keys[1], (s.characters,), 0, 4)
        order = _shuffles(keys[2], s.showings, s.characters)  # (showings, characters)
        drawings = _shuffles(keys[3], s.characters, drawers)[:, : s.showings]
        drawn = chosen[order] * drawers + drawings.T[jnp.arange(s.showings)[:, None], order]
        batches = (s.updates_per_epoch, s.batch)
        return Lesson(
            drawings=drawn.reshape(batches),
            turns=turns[order].reshape(batches),
            labels=order.reshape(batches),
            key=jax.random.split(keys[4], s.updates_per_epoch),
            update=jnp.zeros(s.updates_per_epoch, jnp.int32),
        )

    def _update(
        self, images: Array, carry: tuple[Embedder, Embedder, Any, Slots], lesson: Lesson
    ) -> tuple[tuple[Embedder, Embedder, Any, Slots], tuple[Array, Array]]:
        s = self.settings
        params, average, opt_state, memory = carry
        distort_key, dropout_key, memory_key = jax.random.split(lesson.key, 3)
        drawings = turned(images[lesson.drawings].astype(jnp.float32) / 255, lesson.turns)
        if s.distortion != Distortion():
            drawings = distorted(s.distortion, drawings, distort_key)
        grad = jax.value_and_grad(self._loss, has_aux=True)
        (loss, queries), grads = grad(params, drawings, lesson.labels, memory, dropout_key)
        updates, opt_state = self.optimizer.update(grads, opt_state, params)
        params = eqx.apply_updates(params, updates)
        # Early on the mean is over about a tenth of the past: the first weights are forgotten.
        decay = jnp.minimum(s.average, (1 + lesson.update) / (10 + lesson.update))
        average = jax.tree.map(lambda a, w: decay * a + (1 - decay) * w, average, params)
        right = jnp.mean(s.memory.query(memory, queries)[1] == lesson.labels)
        memory = s.memory.update(memory, queries, lesson.labels, memory_key)
        return (params, average, opt_state, memory), (loss, right)

    def _loss(
        self, params: Embedder, drawings: Array, labels: Array, memory: Slots, key: Array
    ) -> tuple[Array, Array]:
        s = self.settings
        embedder = self.embedder(params)
        features = embedder.features(drawings, s.precision)
        if s.dropout:
            keep = jax.random.bernoulli(key, 1 - s.dropout, features.shape)
            features = jnp.where(keep, features / (1 - s.dropout), 0.0)
        queries = embedder.to_sphere(features, s.precision)
        return jnp.mean(s.memory.loss(memory, queries, labels)), jax.lax.stop_gradient(queries)


def _shuffles(key: Array, rows: int, size: int) -> Array:
    """Return rows of 0 … size − 1, each shuffled independently."""
    return jnp.argsort(jax.random.uniform(key, (rows, size)), axis=1)
