"""transformers: hidden_act="mpu2". A ReLU checkpoint keeps its outputs, then every layer learns its own angle."""

import tempfile

import torch
from transformers import BertConfig, BertForSequenceClassification

import proxact

torch.manual_seed(0)
proxact.register_hf()

config = BertConfig(
    vocab_size=50, hidden_size=32, num_hidden_layers=3, num_attention_heads=4, intermediate_size=64, hidden_act="relu"
)
tokens = torch.randint(2, 50, (64, 12))
labels = (tokens > 25).sum(1).gt(6).long()

relu = BertForSequenceClassification(config).eval()
with tempfile.TemporaryDirectory() as folder:
    relu.save_pretrained(folder)
    model = BertForSequenceClassification.from_pretrained(folder, hidden_act="mpu2").eval()
with torch.no_grad():
    change = (model(tokens).logits - relu(tokens).logits).abs().max().item()
print(f"ReLU checkpoint, loaded with hidden_act='mpu2': outputs differ by {change:.1e}")

units = [module for module in model.modules() if isinstance(module, proxact.MPU)]
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
model.train()
for _ in range(20):
    optimizer.zero_grad()
    loss = model(tokens, labels=labels).loss
    loss.backward()
    optimizer.step()
print(f"loss after 20 steps: {loss.item():.3f}")
print("angles, from pi/4 = 0.7854:", ", ".join(f"{unit.alpha.item():.4f}" for unit in units))
