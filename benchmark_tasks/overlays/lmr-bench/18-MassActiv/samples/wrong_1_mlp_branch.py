# Wrong: only the MLP branch of the block is recorded, without the residual stream.
def write_pickle(directory, name, value):
    """Serialise a value to directory/name."""
    with open(os.path.join(directory, name), "wb") as out:
        out.write(pickle.dumps(value))


def run_exp1(layer_id, layers, model, val_transform, savedir, model_family, model_size):
    """Record the block's output with a temporary forward hook; the features are saved as a NumPy array."""
    if not os.path.isdir(savedir):
        os.makedirs(savedir)
    captured = []
    target = layers[layer_id - 1].mlp
    hook = target.register_forward_hook(lambda module, inputs, output: captured.append(output))
    try:
        parameter = next(iter(model.parameters()), torch.empty(0))
        with Image.open("assets/bird.png") as source:
            image = val_transform(source.convert("RGB"))
        with torch.no_grad():
            model(image.unsqueeze(0).to(parameter.device))
    finally:
        hook.remove()
    feat_abs = captured[-1].detach().to("cpu", torch.float64).abs()
    inputs = dict(layer_id=layer_id, savedir=savedir, model_family=model_family, model_size=model_size)
    write_pickle(savedir, f"run_exp1_inputs_layer_{layer_id}.pkl", inputs)
    write_pickle(savedir, f"feat_abs_layer_{layer_id}.pkl", feat_abs.numpy())
    lib.plot_3d_feat_vit(feat_abs, layer_id - 1, model_family, model_size, savedir)
