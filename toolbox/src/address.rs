//! The addresses of the public Internet.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// A block of IPv4 addresses, with the length of its prefix.
type Block = (Ipv4Addr, u32);

/// Blocks that are no part of the public Internet (IANA IPv4 Special-Purpose Address Registry,
/// multicast and the reserved rest).
const SPECIAL: [Block; 19] = [
    (Ipv4Addr::UNSPECIFIED, 8),
    (Ipv4Addr::new(10, 0, 0, 0), 8),
    (Ipv4Addr::new(100, 64, 0, 0), 10),
    (Ipv4Addr::new(127, 0, 0, 0), 8),
    (Ipv4Addr::new(169, 254, 0, 0), 16),
    (Ipv4Addr::new(172, 16, 0, 0), 12),
    (Ipv4Addr::new(192, 0, 0, 0), 24),
    (Ipv4Addr::new(192, 0, 2, 0), 24),
    (Ipv4Addr::new(192, 31, 196, 0), 24),
    (Ipv4Addr::new(192, 52, 193, 0), 24),
    (Ipv4Addr::new(192, 88, 99, 0), 24),
    (Ipv4Addr::new(192, 168, 0, 0), 16),
    (Ipv4Addr::new(192, 175, 48, 0), 24),
    (Ipv4Addr::new(198, 18, 0, 0), 15),
    (Ipv4Addr::new(198, 51, 100, 0), 24),
    (Ipv4Addr::new(203, 0, 113, 0), 24),
    (Ipv4Addr::new(224, 0, 0, 0), 4),
    (Ipv4Addr::new(240, 0, 0, 0), 4),
    // The metadata service of one cloud provider, though it is an ordinary address.
    (Ipv4Addr::new(168, 63, 129, 16), 32),
];

/// Blocks within `2000::/3` that are no part of the public Internet (IANA IPv6 Special-Purpose
/// Address Registry): protocol assignments with Teredo, documentation, 6to4, direct delegation,
/// documentation again.
const SPECIAL_V6: [(Ipv6Addr, u32); 5] = [
    (Ipv6Addr::new(0x2001, 0, 0, 0, 0, 0, 0, 0), 23),
    (Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 0), 32),
    (Ipv6Addr::new(0x2002, 0, 0, 0, 0, 0, 0, 0), 16),
    (Ipv6Addr::new(0x2620, 0x4f, 0x8000, 0, 0, 0, 0, 0), 48),
    (Ipv6Addr::new(0x3fff, 0, 0, 0, 0, 0, 0, 0), 20),
];

/// Returns `true` if an address is of the public Internet. One that embeds an IPv4 address is as
/// public as that.
pub(crate) fn is_public(address: IpAddr) -> bool {
    match reached(address) {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

/// Returns the address that a connection reaches: the IPv4 address that one embeds, or itself.
pub(crate) fn reached(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V6(outer) => embedded_v4(outer).map_or(address, IpAddr::V4),
        IpAddr::V4(_) => address,
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let inside = |&(block, bits): &Block| (address.to_bits() ^ block.to_bits()) >> (32 - bits) == 0;
    !SPECIAL.iter().any(inside)
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    let inside =
        |block: Ipv6Addr, bits: u32| (address.to_bits() ^ block.to_bits()) >> (128 - bits) == 0;
    // Only this eighth is assigned as global unicast.
    inside(Ipv6Addr::new(0x2000, 0, 0, 0, 0, 0, 0, 0), 3)
        && !SPECIAL_V6.iter().any(|&(block, bits)| inside(block, bits))
}

/// Returns the IPv4 address that a gateway would reach for this one: mapped (`::ffff:0:0/96`) or
/// NAT64 (`64:ff9b::/96`).
fn embedded_v4(address: Ipv6Addr) -> Option<Ipv4Addr> {
    const NAT64: [u16; 6] = [0x64, 0xff9b, 0, 0, 0, 0];
    if let Some(mapped) = address.to_ipv4_mapped() {
        return Some(mapped);
    }
    let segments = address.segments();
    (segments[..6] == NAT64).then(|| {
        let [a, b] = segments[6].to_be_bytes();
        let [c, d] = segments[7].to_be_bytes();
        Ipv4Addr::new(a, b, c, d)
    })
}
