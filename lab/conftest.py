"""Folder that the examples of docstrings run in."""

from examples_folder import folder_of_examples as folder_of_examples
from examples_folder import small_list as small_list
