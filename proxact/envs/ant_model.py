"""The ant as a MuJoCo model, from the dimensions of IsaacGym's: a ball with four legs of three capsules each."""

from __future__ import annotations

import numpy as np

CONTROL_SECONDS = 0.0166
SUBSTEPS = 2
EFFORT = 15.0
TORSO_RADIUS, LINK_RADIUS = 0.25, 0.08

LEGS = {"front_left": (1, 1), "front_right": (-1, 1), "back_left": (-1, -1), "back_right": (1, -1)}
"""The quadrant (signs of x and y) into which each leg points."""

_HIP = (-40.0, 40.0)


def ankle_range(signs: tuple[int, int]) -> tuple[float, float]:
    """Degrees. The axis (-1, 1) or (1, 1) lies across the leg; towards the floor is a positive turn for x > 0."""
    return (30.0, 100.0) if signs[0] > 0 else (-100.0, -30.0)


def joint_limits() -> tuple[np.ndarray, np.ndarray]:
    """Radians, in the order of the joints: hip and ankle of each leg."""
    ranges = [limits for signs in LEGS.values() for limits in (_HIP, ankle_range(signs))]
    low, high = np.radians(np.array(ranges)).T
    return low, high


def _leg(name: str, signs: tuple[int, int]) -> str:
    x, y = signs
    axis = "-1 1 0" if x * y > 0 else "1 1 0"
    low, high = ankle_range(signs)

    def link(length: float) -> str:
        return f'<geom type="capsule" fromto="0 0 0 {length * x} {length * y} 0"/>'

    return f"""
    <body name="{name}_hip">
      {link(0.2)}
      <body name="{name}_upper" pos="{0.2 * x} {0.2 * y} 0">
        <joint name="{name}_hip" axis="0 0 1" range="{_HIP[0]} {_HIP[1]}"/>
        {link(0.2)}
        <body name="{name}_foot" pos="{0.2 * x} {0.2 * y} 0">
          <joint name="{name}_ankle" axis="{axis}" range="{low} {high}"/>
          {link(0.4)}
          <site name="{name}_foot" pos="{0.4 * x} {0.4 * y} 0"/>
        </body>
      </body>
    </body>"""


def mjcf() -> str:
    """The model; sensors are force and torque at each foot.

    Fused bodies and no search for islands: one ant is one island, and both save an eighth of the time.
    """
    legs = "".join(_leg(name, signs) for name, signs in LEGS.items())
    sensors = "".join(f'<force site="{name}_foot"/><torque site="{name}_foot"/>' for name in LEGS)
    motors = "".join(
        f'<motor joint="{name}_{joint}" gear="{EFFORT}" ctrllimited="true" ctrlrange="-1 1"/>'
        for name in LEGS
        for joint in ("hip", "ankle")
    )
    return f"""
<mujoco model="ant">
  <compiler angle="degree" inertiafromgeom="true" fusestatic="true"/>
  <option timestep="{CONTROL_SECONDS / SUBSTEPS}" gravity="0 0 -9.81" solver="Newton" cone="pyramidal">
    <flag autoreset="disable" island="disable"/>
  </option>
  <default>
    <joint type="hinge" armature="0.01" damping="0.1" limited="true"/>
    <geom size="{LINK_RADIUS}" density="5" friction="1.5 0.1 0.1" margin="0.01" condim="3" contype="0" conaffinity="1"
          rgba="0.8 0.5 0.3 1"/>
  </default>
  <visual><global offwidth="960" offheight="540"/></visual>
  <asset>
    <texture name="floor" type="2d" builtin="checker" rgb1="0.85 0.87 0.9" rgb2="0.7 0.74 0.8" width="99" height="99"/>
    <material name="floor" texture="floor" texrepeat="1 1" texuniform="true"/>
    <texture name="sky" type="skybox" builtin="gradient" rgb1="0.9 0.95 1" rgb2="0.6 0.7 0.85" width="64" height="64"/>
  </asset>
  <worldbody>
    <geom name="floor" type="plane" size="0 0 1" friction="1 0.005 0.0001" contype="1" material="floor" rgba="1 1 1 1"/>
    <body name="torso" pos="0 0 0.44">
      <freejoint name="root"/>
      <geom name="torso" type="sphere" size="{TORSO_RADIUS}"/>
      <light directional="true" diffuse="0.8 0.8 0.8" mode="trackcom" pos="0 0 4" dir="0 0 -1"/>
      <camera name="follow" mode="trackcom" pos="0 -3.5 1.6" xyaxes="1 0 0 0 0.4 1"/>{legs}
    </body>
  </worldbody>
  <actuator>{motors}</actuator>
  <sensor>{sensors}</sensor>
</mujoco>"""
