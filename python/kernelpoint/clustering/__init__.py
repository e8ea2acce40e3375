"""Clustering of launches by their features. Importing this package needs NumPy only; K-Means imports scikit-learn when it is
called."""

from kernelpoint.clustering.kmeans import silhouette_kmeans as silhouette_kmeans
from kernelpoint.clustering.threshold import threshold_clusters as threshold_clusters
from kernelpoint.clustering.threshold import unit_rows as unit_rows
