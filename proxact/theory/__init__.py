"""The paper's results as constructions that return weights or numbers, each with a residual that can refuse them.

``verify_all`` runs every claim and every correction to the text; ``proxact verify`` is the same from the command line.
"""

from .approximation import disc_fit, far_fit, segment_floor, segment_net
from .claim import Claim, Construction, Erratum, Verdict
from .embedding import (
    cone_isometry,
    net_in_larger_cones,
    relu_net_as_mpu_net,
    relu_net_of_half_space,
    relu_net_of_ray,
)
from .errata import ERRATA
from .gradient_step import gradient_layer, hard_sigmoid_layer, relu_rnn
from .inclusion import orthant_to_qp, qp_to_socp, sdp_multiplier, socp_multipliers, socp_point, socp_to_sdp
from .operations import Counted, cone_formula, count_operations
from .placement import move_cone
from .problems import QP, SDP, SOCP, OrthantQP
from .representability import curvature_witness, kink_rays, odd_part_gap, odd_part_witness
from .shallow import ShallowNet
from .verify import CLAIMS, verify_all

__all__ = [
    "CLAIMS",
    "ERRATA",
    "QP",
    "SDP",
    "SOCP",
    "Claim",
    "Construction",
    "Counted",
    "Erratum",
    "OrthantQP",
    "ShallowNet",
    "Verdict",
    "cone_formula",
    "cone_isometry",
    "count_operations",
    "curvature_witness",
    "disc_fit",
    "far_fit",
    "gradient_layer",
    "hard_sigmoid_layer",
    "kink_rays",
    "move_cone",
    "net_in_larger_cones",
    "odd_part_gap",
    "odd_part_witness",
    "orthant_to_qp",
    "qp_to_socp",
    "relu_net_as_mpu_net",
    "relu_net_of_half_space",
    "relu_net_of_ray",
    "relu_rnn",
    "sdp_multiplier",
    "segment_floor",
    "segment_net",
    "socp_multipliers",
    "socp_point",
    "socp_to_sdp",
    "verify_all",
]
