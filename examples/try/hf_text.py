"""A small BERT of transformers learns whether made-up sentences praise. About 15 seconds.

It takes its seed as an argument, as the scripts of transformers do, so the seed is passed on:

proxact try examples/try/hf_text.py --activations original,relu,mpu2 --seeds 5 --metric eval_loss -- --seed {seed}
"""

import argparse
import random
import tempfile

import torch
from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainingArguments, set_seed

import proxact

THINGS = ["film", "book", "meal", "song", "room", "phone", "story", "game", "coffee", "trip"]
GOOD = ["great", "lovely", "clever", "fresh", "warm", "honest"]
BAD = ["dull", "broken", "cold", "noisy", "bland", "late"]
WORDS = ["[PAD]", "the", "was", "is", "not", "and", "but", "very", *THINGS, *GOOD, *BAD]
LENGTH = 12


def make_sentences(count: int, seed: int) -> list[dict]:
    """'the film was not dull but the song is late': the second half decides, but one reader in twelve misreads it."""
    draw = random.Random(seed)
    examples = []
    for _ in range(count):
        words: list[str] = []
        for half in range(2):
            is_good, is_turned = draw.random() < 0.5, draw.random() < 0.25
            words += ["the", draw.choice(THINGS), draw.choice(["was", "is"])]
            words += ["not"] if is_turned else ["very"] if draw.random() < 0.3 else []
            words += [draw.choice(GOOD if is_good else BAD), *(["but"] if half == 0 else [])]
        ids = [WORDS.index(word) for word in words]
        padding = LENGTH - len(ids)
        label = int(is_good != is_turned) if draw.random() > 1 / 12 else draw.randint(0, 1)
        mask = [1] * len(ids) + [0] * padding
        examples.append({"input_ids": ids + [0] * padding, "attention_mask": mask, "labels": label})
    return examples


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=42)
    args = parser.parse_args()
    set_seed(args.seed)

    config = BertConfig(
        vocab_size=len(WORDS),
        hidden_size=48,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=96,
        max_position_embeddings=LENGTH,
    )
    model = BertForSequenceClassification(config)  # with GELU
    model = proxact.trial(model, example_input={"input_ids": torch.zeros(1, LENGTH, dtype=torch.long)})  # the new line

    with tempfile.TemporaryDirectory() as folder:
        arguments = TrainingArguments(
            output_dir=folder,
            num_train_epochs=5,
            per_device_train_batch_size=32,
            per_device_eval_batch_size=128,
            learning_rate=2e-3,
            warmup_steps=20,
            eval_strategy="epoch",
            save_strategy="no",
            report_to="none",
            disable_tqdm=True,
            seed=args.seed,
        )
        trainer = Trainer(
            model,
            arguments,
            train_dataset=make_sentences(1200, seed=0),
            eval_dataset=make_sentences(500, seed=1),
            compute_metrics=lambda out: {"accuracy": float((out.predictions.argmax(1) == out.label_ids).mean())},
        )
        trainer.train()


if __name__ == "__main__":
    main()
