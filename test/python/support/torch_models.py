"""Small transformers in PyTorch, as models of several families spell them."""

import math

import torch
from torch import Tensor, nn
from torch.nn import functional as F


def rotated(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Rotary positions by halves, as Llama has them."""
    low, high = x.chunk(2, dim=-1)
    return x * cos + torch.cat((-high, low), dim=-1) * sin


class RmsNorm(nn.Module):
    """RMSNorm by its parts, computed in float32."""

    def __init__(self, size: int):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(size))

    def forward(self, x: Tensor) -> Tensor:
        wide = x.float()
        wide = wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + 1e-6)
        return self.weight * wide.to(x.dtype)


class LlamaLayer(nn.Module):
    """Rotary attention with grouped heads, and a gated MLP."""

    def __init__(self, width: int, heads: int, groups: int, hidden: int):
        super().__init__()
        self.heads, self.groups, self.size = heads, groups, width // heads
        self.norm, self.mlp_norm = RmsNorm(width), RmsNorm(width)
        self.q = nn.Linear(width, width, bias=False)
        self.k = nn.Linear(width, groups * self.size, bias=False)
        self.v = nn.Linear(width, groups * self.size, bias=False)
        self.o = nn.Linear(width, width, bias=False)
        self.gate = nn.Linear(width, hidden, bias=False)
        self.up = nn.Linear(width, hidden, bias=False)
        self.down = nn.Linear(hidden, width, bias=False)

    def repeated(self, x: Tensor) -> Tensor:
        batch, groups, length, size = x.shape
        times = self.heads // self.groups
        wide = x[:, :, None].expand(batch, groups, times, length, size)
        return wide.reshape(batch, groups * times, length, size)

    def forward(self, x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        batch, length, width = x.shape
        h = self.norm(x)
        q = self.q(h).view(batch, length, -1, self.size).transpose(1, 2)
        k = self.k(h).view(batch, length, -1, self.size).transpose(1, 2)
        v = self.v(h).view(batch, length, -1, self.size).transpose(1, 2)
        q, k = rotated(q, cos, sin), rotated(k, cos, sin)
        a = F.scaled_dot_product_attention(q, self.repeated(k), self.repeated(v), is_causal=True)
        x = x + self.o(a.transpose(1, 2).reshape(batch, length, width))
        h = self.mlp_norm(x)
        return x + self.down(F.silu(self.gate(h)) * self.up(h))


class Llama(nn.Module):
    """Token ids to logits; `inv_freq` is a buffer that is not persistent, and the head is tied."""

    def __init__(self, layers: int = 2, width: int = 48, heads: int = 4, groups: int = 2, words: int = 61):
        super().__init__()
        self.embed = nn.Embedding(words, width)
        self.layers = nn.ModuleList(LlamaLayer(width, heads, groups, 3 * width) for _ in range(layers))
        self.norm = RmsNorm(width)
        self.head = nn.Linear(width, words, bias=False)
        self.head.weight = self.embed.weight
        size = width // heads
        frequencies = 1 / 10000 ** (torch.arange(0, size, 2).float() / size)
        self.register_buffer("inv_freq", frequencies, persistent=False)

    def forward(self, ids: Tensor) -> Tensor:
        x = self.embed(ids)
        positions = torch.arange(ids.shape[1])
        angles = positions[:, None].float() * self.inv_freq
        angles = torch.cat((angles, angles), dim=-1)
        cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
        for layer in self.layers:
            x = layer(x, cos, sin)
        return self.head(self.norm(x))


class BertLayer(nn.Module):
    """Attention with a mask of floats, post-norm, and an MLP with GELU."""

    def __init__(self, width: int, heads: int):
        super().__init__()
        self.heads = heads
        self.query, self.key, self.value = (nn.Linear(width, width) for _ in range(3))
        self.out, self.norm = nn.Linear(width, width), nn.LayerNorm(width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.mlp_norm = nn.LayerNorm(width)
        self.dropout = nn.Dropout(0.1)

    def split(self, x: Tensor) -> Tensor:
        return x.unflatten(-1, (self.heads, -1)).permute(0, 2, 1, 3)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        q, k, v = self.split(self.query(x)), self.split(self.key(x)), self.split(self.value(x))
        scores = q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1]) + mask
        heads = self.dropout(scores.softmax(-1)) @ v
        heads = heads.permute(0, 2, 1, 3).flatten(2)
        x = self.norm(x + self.dropout(self.out(heads)))
        return self.mlp_norm(x + self.down(F.gelu(self.up(x))))


class Bert(nn.Module):
    """Ids and a mask of zeros and ones to sentences' embeddings."""

    def __init__(self, layers: int = 2, width: int = 36, heads: int = 3):
        super().__init__()
        self.words, self.positions = nn.Embedding(50, width), nn.Embedding(16, width)
        self.norm = nn.LayerNorm(width)
        self.layer = nn.ModuleList(BertLayer(width, heads) for _ in range(layers))
        self.register_buffer("position_ids", torch.arange(16)[None])

    def forward(self, ids: Tensor, attention_mask: Tensor) -> dict[str, Tensor]:
        x = self.words(ids) + self.positions(self.position_ids[:, : ids.shape[1]])
        x = self.norm(x)
        mask = (1.0 - attention_mask[:, None, None, :].to(x.dtype)) * torch.finfo(x.dtype).min
        for layer in self.layer:
            x = layer(x, mask)
        weights = attention_mask[..., None].to(x.dtype)
        pooled = (x * weights).sum(1) / weights.sum(1).clamp(min=1e-9)
        return {"hidden": x, "pooled": F.normalize(pooled, dim=-1)}


class Gpt2(nn.Module):
    """One block: a packed product for q, k and v, `addmm` weights, and GELU by tanh."""

    def __init__(self, width: int = 40, heads: int = 5):
        super().__init__()
        self.heads, self.width = heads, width
        self.norm, self.mlp_norm = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv = nn.Parameter(torch.randn(width, 3 * width) / 6)
        self.qkv_bias = nn.Parameter(torch.randn(3 * width))
        self.out, self.up, self.down = (
            nn.Linear(width, width),
            nn.Linear(width, 4 * width),
            nn.Linear(4 * width, width),
        )

    def forward(self, x: Tensor) -> Tensor:
        batch, length, width = x.shape
        packed = torch.addmm(self.qkv_bias, self.norm(x).view(-1, width), self.qkv).view(batch, length, -1)
        q, k, v = (
            t.view(batch, length, self.heads, -1).transpose(1, 2) for t in packed.split(self.width, dim=2)
        )
        heads = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(heads.transpose(1, 2).contiguous().view(batch, length, width))
        return x + self.down(F.gelu(self.up(self.mlp_norm(x)), approximate="tanh"))


class Vit(nn.Module):
    """Patches by a convolution, a class token, and one layer of torch's own encoder."""

    def __init__(self, width: int = 24, heads: int = 2, patch: int = 5):
        super().__init__()
        self.patches = nn.Conv2d(3, width, patch, patch)
        self.token = nn.Parameter(torch.randn(1, 1, width))
        self.positions = nn.Parameter(torch.randn(1, 7, width))
        self.layer = nn.TransformerEncoderLayer(width, heads, 4 * width, batch_first=True, norm_first=True)

    def forward(self, image: Tensor) -> Tensor:
        x = self.patches(image).flatten(2).transpose(1, 2)
        x = torch.cat((self.token.expand(x.shape[0], -1, -1), x), dim=1) + self.positions
        return self.layer(x)[:, 0]


class T5(nn.Module):
    """Attention without a scale and with a bias that is looked up by distance, in buckets."""

    def __init__(self, width: int = 24, heads: int = 3, buckets: int = 8):
        super().__init__()
        self.heads, self.buckets = heads, buckets
        self.q, self.k, self.v, self.o = (nn.Linear(width, width, bias=False) for _ in range(4))
        self.bias = nn.Embedding(buckets, heads)
        self.norm = nn.RMSNorm(width)

    def bucket(self, distance: Tensor) -> Tensor:
        half = self.buckets // 2
        side = (distance > 0).to(torch.long) * half
        distance = distance.abs()
        near = half // 2
        far = near + (torch.log(distance.float() / near) / math.log(16 / near) * (half - near)).to(torch.long)
        far = torch.min(far, torch.full_like(far, half - 1))
        return side + torch.where(distance < near, distance, far)

    def forward(self, x: Tensor) -> Tensor:
        length = x.shape[1]
        h = self.norm(x)
        packed = (each(h).unflatten(-1, (self.heads, -1)) for each in (self.q, self.k, self.v))
        q, k, v = (each.transpose(1, 2) for each in packed)
        places = torch.arange(length)
        bias = self.bias(self.bucket(places[None] - places[:, None])).permute(2, 0, 1)[None]
        scores = torch.matmul(q, k.transpose(3, 2)) + bias
        heads = torch.matmul(F.softmax(scores.float(), dim=-1).type_as(scores), v)
        return x + self.o(heads.transpose(1, 2).reshape(x.shape))
