"""Presets: each is a contract, with the framework's own defaults."""

from __future__ import annotations

import unittest

from accumulation_receipt import contract_for
from accumulation_receipt.contract import check_contract

FRAMEWORKS = ("pytorch", "transformers", "accelerate", "lightning", "deepspeed", "torchtune", "megatron")


class Presets(unittest.TestCase):
    def test_each_is_a_contract(self) -> None:
        for framework in FRAMEWORKS:
            for world_size in (1, 8):
                for precision in ("float64", "float32", "bfloat16", "float16"):
                    contract = contract_for(
                        framework, "1.2.3", accumulation_steps=4, world_size=world_size, precision=precision
                    )
                    with self.subTest(framework=framework, world_size=world_size, precision=precision):
                        self.assertEqual(check_contract(contract), contract)
                        self.assertEqual("loss_scale" in contract, precision == "float16" and framework != "torchtune")
                        self.assertEqual("gradient_reduction" in contract, world_size > 1)

    def test_what_each_framework_ships(self) -> None:
        def of(framework: str, version: str = "1.0.0", **given):
            return contract_for(framework, version, accumulation_steps=4, precision="float16", **given)

        self.assertEqual(of("transformers", "4.57.6")["clip"], {"max_norm": 1.0})
        self.assertEqual(of("transformers", "4.57.6")["tail"], "flush")
        self.assertEqual(of("transformers", "4.46.3")["tail"], "carry")
        self.assertEqual(of("transformers", "4.47.0")["tail"], "flush")
        self.assertEqual(of("transformers", "5.0")["tail"], "flush")
        self.assertEqual(of("transformers", "4.57.6")["on_skip"], {"scheduler": "hold", "update": "advance"})
        self.assertEqual(of("accelerate", world_size=3)["scheduler"]["ticks"], 3)
        self.assertEqual(of("lightning")["scheduler"]["interval"], "epoch")
        self.assertEqual(of("lightning")["on_skip"]["scheduler"], "advance")
        self.assertEqual(of("lightning")["numerator_source"], "recomputed")
        self.assertEqual(of("torchtune")["tail"], "drop")
        self.assertEqual(of("deepspeed")["tail"], "carry")
        for framework in ("deepspeed", "megatron"):
            self.assertEqual(of(framework)["on_skip"], {"scheduler": "hold", "update": "advance"})
        self.assertEqual(of("megatron")["formula"], "mean-of-means/1")
        self.assertEqual(of("pytorch")["loss_scale"]["growth_interval"], 2000)
        deepspeed, megatron = of("deepspeed")["loss_scale"], of("megatron")["loss_scale"]
        self.assertEqual(
            (deepspeed["initial"], deepspeed["growth_interval"], deepspeed["growth_delay"], deepspeed["hysteresis"]),
            (65536.0, 1000, 1, 2),
        )
        self.assertEqual(
            (megatron["initial"], megatron["growth_interval"], megatron["hysteresis"], megatron["minimum"]),
            (2.0**32, 1000, 2, 1.0),
        )
        self.assertEqual(of("deepspeed")["unobserved"], ["zero_grad", "unscale", "clip", "sync"])
        self.assertEqual(of("megatron")["unobserved"], ["unscale", "sync"])
        self.assertEqual(of("megatron")["software"]["megatron"], "1.0.0")

    def test_half_precision_is_judged_in_the_arithmetic_of_its_loss(self) -> None:
        def tolerance(precision: str) -> dict[str, float]:
            return contract_for("pytorch", accumulation_steps=4, precision=precision)["tolerance"]

        for precision in ("bfloat16", "float16", "float32"):
            self.assertEqual(tolerance(precision), {"absolute": 1e-6, "relative": 1e-5})
        self.assertEqual(tolerance("float64"), {"absolute": 1e-11, "relative": 1e-10})

    def test_what_is_declared_replaces_the_preset(self) -> None:
        contract = contract_for(
            "transformers", "4.57.6", accumulation_steps=4, clip=None, tail="drop", require=["weights"]
        )
        self.assertNotIn("clip", contract)
        self.assertEqual((contract["tail"], contract["require"]), ("drop", ["weights"]))

    def test_presets_share_nothing(self) -> None:
        one = contract_for("pytorch", accumulation_steps=4, precision="float16")
        one["loss_scale"]["initial"] = 2.0
        self.assertEqual(
            contract_for("pytorch", accumulation_steps=4, precision="float16")["loss_scale"]["initial"], 65536.0
        )

    def test_an_unknown_framework_is_refused(self) -> None:
        with self.assertRaises(ValueError):
            contract_for("keras", accumulation_steps=4)


if __name__ == "__main__":
    unittest.main()
