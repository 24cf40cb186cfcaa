"""Omniglot drawings as contexts: images, the embedder after Kaiser et al. 2017, embeddings."""
