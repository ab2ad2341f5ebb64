"""What the experiments on pictures share: data, augmentation, schedules, one loop for one or many processes."""
