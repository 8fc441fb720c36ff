"""AWS's prices: fetched by boto3 into a file, read from it, and unknown where the file has none."""
