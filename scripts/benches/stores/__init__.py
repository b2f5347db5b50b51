"""What ``scripts/bench --s3`` and ``--gcs`` measure: a store reached by Moorage, and in other ways."""
