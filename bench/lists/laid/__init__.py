"""The rows of each read model whose lists are measured."""
