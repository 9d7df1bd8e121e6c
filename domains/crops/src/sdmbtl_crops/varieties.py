"""Parameters of wheat and maize in the equations of growth."""

from __future__ import annotations

from dataclasses import dataclass

from sdmbtl.checks import known_name
from sdmbtl.errors import FamilyError

#: Points (x, y) of a function that is linear between them and constant outside.
Table = tuple[tuple[float, float], ...]


@dataclass(frozen=True)
class Variety:
    """The parameters of LINTUL, by the names of Shibu et al. (2010) where they have one.

    Attributes:
        name: Name of the crop.
        sowing_day: Usual day of the year on which it is sown.
        longest_weeks: Weeks after sowing at which it is harvested, ripe or not.
        emergence_sum: Temperature sum from sowing to emergence, in K d (TSUMEM).
        flowering_sum: From emergence to flowering (TSUM1).
        ripening_sum: From flowering to maturity (TSUM2).
        development: Daily temperature sum by mean temperature (DTSMTB).
        base_temperature: Of the growth of young leaves, in degrees Celsius (TBASE).
        light_use: Dry matter by light that is intercepted, in g/MJ of PAR (LUE).
        warmth: Share of `light_use` by the temperature of the day (TMPFTB of LINTUL5).
        extinction: Of light in the canopy (K).
        leaf_area: Leaf area of a gram of leaves, in m2/g (SLAC).
        young_leaf_growth: Relative growth of young leaves, in 1/(K d) (RGRL).
        ageing_sum: Temperature sum from which leaves die of age (TSUMAG).
        ageing: Relative death rate of old leaves by temperature (RDRT).
        shading_death: Largest relative death rate by shading (RDRSHM).
        shading_leaf_area: Leaf area index from which leaves die of shading (LAICR).
        starving_death: Relative death rate of leaves without any nitrogen (RDRNS).
        root_death: Relative death rate of roots after flowering (RDRRT).
        to_roots: Share of growth that goes to the roots, by stage (FRTTB).
        to_leaves: Of the shoot's growth (FLVTB).
        to_stems: Of the shoot's growth (FSTTB).
        to_grain: Of the shoot's growth (FSOTB).
        root_speed: Growth of the root depth, in m/d (RRDMAX).
        root_depth: Largest depth of roots, in m (ROOTDM).
        drought_tolerance: Transpiration constant, in mm/d (TRANCO).
        leaf_nitrogen: Largest concentration in leaves by stage, in g/g (NMXLV).
        stem_share: Largest concentration in stems, as a share of that (LSNR).
        root_share: The same of roots (LRNR).
        grain_nitrogen: Largest concentration in grain (NMAXSO).
        optimum: Concentration that suffices, as a share of the largest one (FRNX).
        residual: Concentrations in leaves, stems and roots that do not move (RNFLV, RNFST, RNFRT).
        starving_light: Effect of a lack of nitrogen on the use of light (NLUE).
        starving_area: On the area of a gram of leaves (NSLA).
        uptake_until: Stage after which no nitrogen is taken up (DVSNLT).
        seedling: Dry matter of leaves and roots at emergence, in g/m2 (WLVGI, WRTLI).
    """

    name: str
    sowing_day: int
    longest_weeks: int
    emergence_sum: float
    flowering_sum: float
    ripening_sum: float
    development: Table
    base_temperature: float
    light_use: float
    warmth: Table
    extinction: float
    leaf_area: float
    young_leaf_growth: float
    ageing_sum: float
    ageing: Table
    shading_death: float
    shading_leaf_area: float
    starving_death: float
    root_death: float
    to_roots: Table
    to_leaves: Table
    to_stems: Table
    to_grain: Table
    root_speed: float
    root_depth: float
    drought_tolerance: float
    leaf_nitrogen: Table
    stem_share: float
    root_share: float
    grain_nitrogen: float
    optimum: float
    residual: tuple[float, float, float]
    starving_light: float
    starving_area: float
    uptake_until: float
    seedling: tuple[float, float]


#: Death of old leaves by temperature: the same in LINTUL's wheat and maize.
_AGEING: Table = ((-10.0, 0.0), (10.0, 0.02), (15.0, 0.03), (30.0, 0.05), (50.0, 0.09))

#: Spring wheat of LINTUL3. The effect of temperature on the use of light, which LINTUL3 leaves out,
#: has the shape of LINTUL5's wheat, but full light use from 10 °C, at which LINTUL3 was calibrated.
WHEAT = Variety(
    name="wheat",
    sowing_day=90,
    longest_weeks=26,
    emergence_sum=0.0,
    flowering_sum=800.0,
    ripening_sum=1030.0,
    development=((0.0, 0.0), (50.0, 50.0)),
    base_temperature=0.0,
    light_use=2.8,
    warmth=((0.0, 0.0), (10.0, 1.0), (25.0, 1.0), (35.0, 0.0)),
    extinction=0.6,
    leaf_area=0.022,
    young_leaf_growth=0.009,
    ageing_sum=800.0,
    ageing=_AGEING,
    shading_death=0.03,
    shading_leaf_area=4.0,
    starving_death=0.03,
    root_death=0.03,
    to_roots=((0.0, 0.6), (0.33, 0.58), (0.4, 0.55), (0.8, 0.1), (1.0, 0.0)),
    to_leaves=((0.0, 1.0), (0.33, 1.0), (0.4, 0.9), (0.8, 0.4), (1.0, 0.1), (1.01, 0.0)),
    to_stems=((0.33, 0.0), (0.4, 0.1), (0.8, 0.6), (1.0, 0.9), (1.01, 0.25), (2.0, 0.0)),
    to_grain=((1.0, 0.0), (1.01, 0.75), (2.0, 1.0)),
    root_speed=0.012,
    root_depth=1.2,
    drought_tolerance=8.0,
    leaf_nitrogen=((0.0, 0.06), (0.4, 0.04), (0.7, 0.03), (1.0, 0.02), (2.0, 0.014)),
    stem_share=0.5,
    root_share=0.5,
    grain_nitrogen=0.0165,
    optimum=0.5,
    residual=(0.004, 0.002, 0.002),
    starving_light=0.2,
    starving_area=1.0,
    uptake_until=1.0,
    seedling=(2.4, 3.6),
)

#: Grain maize: partitioning, leaves, warmth and nitrogen of LINTUL5's grain maize (after WOFOST's
#: "grain maize 202"); temperature sums of a late hybrid of the American plains, the use of light
#: after Sinclair and Muchow (1999).
MAIZE = Variety(
    name="maize",
    sowing_day=121,
    longest_weeks=26,
    emergence_sum=70.0,
    flowering_sum=750.0,
    ripening_sum=850.0,
    development=((8.0, 0.0), (30.0, 22.0), (40.0, 22.0)),
    base_temperature=10.0,
    light_use=3.4,
    warmth=((0.0, 0.0), (9.0, 0.05), (16.0, 0.8), (20.0, 1.0), (30.0, 1.0), (42.0, 0.56)),
    extinction=0.6,
    leaf_area=0.016,
    young_leaf_growth=0.0294,
    ageing_sum=950.0,
    ageing=_AGEING,
    shading_death=0.03,
    shading_leaf_area=4.0,
    starving_death=0.05,
    root_death=0.02,
    to_roots=((0.0, 0.4), (0.2, 0.34), (0.4, 0.27), (0.6, 0.19), (0.8, 0.1), (1.0, 0.0)),
    to_leaves=((0.33, 0.62), (0.88, 0.15), (0.95, 0.15), (1.1, 0.1), (1.2, 0.0)),
    to_stems=((0.33, 0.38), (0.88, 0.85), (0.95, 0.85), (1.1, 0.4), (1.2, 0.0)),
    to_grain=((0.95, 0.0), (1.1, 0.5), (1.2, 1.0)),
    root_speed=0.012,
    root_depth=1.0,
    drought_tolerance=8.0,
    leaf_nitrogen=((0.0, 0.06), (0.4, 0.04), (0.7, 0.03), (1.0, 0.02), (2.0, 0.0167)),
    stem_share=0.5,
    root_share=0.5,
    grain_nitrogen=0.0152,
    optimum=0.5,
    residual=(0.0053, 0.0027, 0.0027),
    starving_light=1.1,
    starving_area=0.5,
    uptake_until=1.3,
    seedling=(3.0, 2.0),
)

VARIETIES = {variety.name: variety for variety in (MAIZE, WHEAT)}


def variety_of(name: str) -> Variety:
    """Return the variety of a crop by name.

    Raises:
        FamilyError: If there is none.
    """
    known_name("crop", name, tuple(VARIETIES), error=FamilyError)
    return VARIETIES[name]
