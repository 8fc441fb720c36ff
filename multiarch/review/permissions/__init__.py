"""What policies allow, as sets: what one set of statements allows or denies that another does not."""
