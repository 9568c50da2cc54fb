"""Transformers' Trainer, unmodified, on a tiny Llama with random weights and tokens; nothing is downloaded.

    python hf_trainer.py manifest.jsonl
    python hf_trainer.py --classifier --numerator recomputed manifest.jsonl
    torchrun --nproc-per-node 2 hf_trainer.py 'rank-{rank}.jsonl'
"""

from __future__ import annotations

import argparse
import os
import tempfile

import torch
from tiny import VOCABULARY, collate, sequences
from transformers import LlamaConfig, LlamaForCausalLM, LlamaForSequenceClassification, Trainer, TrainingArguments

from accumulation_receipt import Recorder, contract_for

STEPS = 4
SEQUENCES = 36


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("manifest")
    parser.add_argument("--tail", default="flush", choices=["flush", "carry", "drop"], help="what the contract declares")
    parser.add_argument("--numerator", default="scaled-loss", choices=["scaled-loss", "recomputed"])
    parser.add_argument("--classifier", action="store_true", help="a sequence classifier: one label for each sequence")
    parser.add_argument("--label-smoothing", type=float, default=0.0)
    parser.add_argument("--epochs", type=int, default=1)
    parser.add_argument("--logging-steps", type=int, default=1)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(7)
    rank, world_size = int(os.environ.get("RANK", 0)), int(os.environ.get("WORLD_SIZE", 1))
    with tempfile.TemporaryDirectory() as folder:
        trainer = tiny_trainer(folder, world_size, arguments)
        contract = contract_for(
            "transformers",
            accumulation_steps=STEPS,
            world_size=world_size,
            tail=arguments.tail,
            numerator_source=arguments.numerator,
        )
        recorder = Recorder(arguments.manifest.format(rank=rank), contract, rank=rank)
        recorder.attach_trainer(trainer)
        trainer.train()
        recorder.close()


def tiny_trainer(folder: str, world_size: int, arguments: argparse.Namespace) -> Trainer:
    sizes = LlamaConfig(
        vocab_size=VOCABULARY,
        hidden_size=16,
        intermediate_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=2,
        max_position_embeddings=64,
        initializer_range=0.3,
        pad_token_id=0,
        bos_token_id=1,
        eos_token_id=1,
        num_labels=3,
    )
    model = (LlamaForSequenceClassification if arguments.classifier else LlamaForCausalLM)(sizes)
    settings = TrainingArguments(
        output_dir=folder,
        per_device_train_batch_size=2,
        gradient_accumulation_steps=STEPS,
        num_train_epochs=arguments.epochs,
        learning_rate=1e-2,
        logging_steps=arguments.logging_steps,
        report_to=[],
        use_cpu=True,
        save_strategy="no",
        disable_tqdm=True,
        remove_unused_columns=False,
        seed=7,
        label_smoothing_factor=arguments.label_smoothing,
        ddp_backend="gloo" if world_size > 1 else None,
    )
    data = sequences(SEQUENCES * world_size, seed=1007)
    return Trainer(model=model, args=settings, train_dataset=data, data_collator=collate_classes if arguments.classifier else collate)


def collate_classes(rows: list[dict[str, list[int]]]) -> dict[str, torch.Tensor]:
    """The class of a sequence is its length modulo 3."""
    classes = torch.tensor([len(row["input_ids"]) % 3 for row in rows])
    return {"input_ids": collate(rows)["input_ids"], "labels": classes}


if __name__ == "__main__":
    main()
