# Right: the patched block under inference mode, files through pathlib.
from pathlib import Path


def run_exp1(layer_id, layers, model, val_transform, savedir, model_family, model_size):
    """Run on the GPU if there is one, under inference mode, and write all files through pathlib."""
    folder = Path(savedir)
    folder.mkdir(parents=True, exist_ok=True)
    index = layer_id - 1
    mp.enable_vit_custom_block(layers[index], index)
    sample = torch.stack([val_transform(Image.open(Path("assets") / "bird.png"))])
    if torch.cuda.is_available():
        sample = sample.cuda()
    with torch.inference_mode():
        model(sample)
    activations = torch.abs(layers[index].feat)
    names = ("layer_id", "savedir", "model_family", "model_size")
    record = dict(zip(names, (layer_id, savedir, model_family, model_size)))
    (folder / f"run_exp1_inputs_layer_{layer_id}.pkl").write_bytes(pickle.dumps(record))
    (folder / f"feat_abs_layer_{layer_id}.pkl").write_bytes(pickle.dumps(activations))
    lib.plot_3d_feat_vit(
        feat=activations,
        layer_id=index,
        model_name=model_family,
        model_size=model_size,
        savedir=savedir,
    )
