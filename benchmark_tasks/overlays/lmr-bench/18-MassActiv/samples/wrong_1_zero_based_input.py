# Wrong: the saved inputs hold the 0-based layer id, so a rerun from them reads another layer.
def run_exp1(layer_id, layers, model, val_transform, savedir, model_family, model_size):
    """Save the inputs, record the block's output through the monkey patch, save and plot it."""
    os.makedirs(savedir, exist_ok=True)
    arguments = {
        "layer_id": layer_id - 1,
        "savedir": savedir,
        "model_family": model_family,
        "model_size": model_size,
    }
    with open(os.path.join(savedir, f"run_exp1_inputs_layer_{layer_id}.pkl"), "wb") as handle:
        pickle.dump(arguments, handle)

    position = layer_id - 1
    block = layers[position]
    mp.enable_vit_custom_block(block, position)
    device = next(model.parameters()).device
    picture = Image.open(os.path.join("assets", "bird.png"))
    batch = val_transform(picture)[None].to(device)
    with torch.no_grad():
        model(batch)
    magnitudes = block.feat.abs()

    with open(os.path.join(savedir, f"feat_abs_layer_{layer_id}.pkl"), "wb") as handle:
        pickle.dump(magnitudes, handle)
    lib.plot_3d_feat_vit(magnitudes, position, model_family, model_size, savedir)
