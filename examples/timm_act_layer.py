"""timm: act_layer by name. Where nn.Linear comes before the activation, it acts along the last axis."""

import timm
import torch

import proxact

torch.manual_seed(0)
proxact.register_timm()

images = torch.randn(4, 3, 64, 64)
labels = torch.randint(0, 10, (4,))
models = {
    "resnet18": timm.create_model("resnet18", num_classes=10, act_layer="mpu2"),
    "deit_tiny": timm.create_model("deit_tiny_patch16_224", img_size=64, num_classes=10, act_layer="mpu2_last"),
    "convnext": timm.create_model(
        "convnext_tiny",
        depths=(1, 1, 1, 1),
        dims=(24, 48, 72, 96),
        num_classes=10,
        act_layer=proxact.act_layer("mpu3", dim=-1),
    ),
}
for name, model in models.items():
    units = [module for module in model.modules() if isinstance(module, proxact.MPU)]
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for _ in range(2):
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(images), labels).backward()
        optimizer.step()
    moved = sum(unit.theta.item() != 0 for unit in units)
    print(f"{name}: {len(units)} activations, {moved} angles moved in two steps")
