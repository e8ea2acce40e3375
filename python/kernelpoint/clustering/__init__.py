"""From launch features to clusters. Importing this needs NumPy only; fitting K-Means imports scikit-learn."""

from kernelpoint.clustering.features import run_features
from kernelpoint.clustering.kmeans import SilhouetteKMeans
from kernelpoint.clustering.threshold import ThresholdClusters

__all__ = ["SilhouetteKMeans", "ThresholdClusters", "run_features"]
