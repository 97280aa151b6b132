//! Which addresses are of the public internet.
//!
//! Whatever a page or a model names, nothing on this machine, in its networks or beside it in a data centre is asked: what
//! answers there trusts whoever can reach it.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// What an address stands for if it is not one of the public internet.
pub(super) fn not_public(address: IpAddr) -> Option<&'static str> {
    match address {
        IpAddr::V4(address) => not_public_v4(address),
        IpAddr::V6(address) => not_public_v6(address),
    }
}

/// Networks that are not public: the first address, the length of the prefix, and what it is.
const NETWORKS_V4: &[([u8; 4], u32, &str)] = &[
    ([0, 0, 0, 0], 8, "this machine"),
    ([10, 0, 0, 0], 8, "a private network"),
    ([100, 64, 0, 0], 10, "a provider's inner network"),
    ([127, 0, 0, 0], 8, "this machine"),
    ([168, 63, 129, 16], 32, "a cloud's inner service"),
    (
        [169, 254, 0, 0],
        16,
        "the local link, where clouds hand out credentials",
    ),
    ([172, 16, 0, 0], 12, "a private network"),
    ([192, 0, 0, 0], 24, "a reserved address"),
    ([192, 0, 2, 0], 24, "a reserved address"),
    ([192, 88, 99, 0], 24, "a reserved address"),
    ([192, 168, 0, 0], 16, "a private network"),
    ([198, 18, 0, 0], 15, "a reserved address"),
    ([198, 51, 100, 0], 24, "a reserved address"),
    ([203, 0, 113, 0], 24, "a reserved address"),
    ([224, 0, 0, 0], 4, "a group of machines"),
    ([240, 0, 0, 0], 4, "a reserved address"),
];

fn not_public_v4(address: Ipv4Addr) -> Option<&'static str> {
    let bits = address.to_bits();
    NETWORKS_V4.iter().find_map(|(first, length, what)| {
        let differing = bits ^ Ipv4Addr::from(*first).to_bits();
        (differing.leading_zeros() >= *length).then_some(*what)
    })
}

/// Networks within the public part of IPv6 that are not public, or lead to addresses of IPv4 that nobody has looked at.
const NETWORKS_V6: &[(Ipv6Addr, u32, &str)] = &[
    (Ipv6Addr::new(0x2001, 0, 0, 0, 0, 0, 0, 0), 23, "a reserved address"),
    (Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 0), 32, "a reserved address"),
    (
        Ipv6Addr::new(0x2002, 0, 0, 0, 0, 0, 0, 0),
        16,
        "an address of IPv4 in that of a tunnel",
    ),
    (Ipv6Addr::new(0x3fff, 0, 0, 0, 0, 0, 0, 0), 20, "a reserved address"),
];

/// Only 2000::/3 is handed out to the public. Everything else is refused, whether there is a name for it or not.
fn not_public_v6(address: Ipv6Addr) -> Option<&'static str> {
    if address.segments()[0] & 0xe000 == 0x2000 {
        let bits = address.to_bits();
        return NETWORKS_V6.iter().find_map(|(first, length, what)| {
            let differing = bits ^ first.to_bits();
            (differing.leading_zeros() >= *length).then_some(*what)
        });
    }
    Some(match address.segments() {
        [0, 0, 0, 0, 0, 0, 0, 0 | 1] => "this machine",
        [0, 0, 0, 0, 0, 0xffff, ..] => "an address of IPv4 in that of IPv6",
        [0x64, 0xff9b, ..] => "an address of IPv4 behind a translator",
        [first, ..] if first & 0xfe00 == 0xfc00 => "a private network",
        [first, ..] if first & 0xffc0 == 0xfe80 => "the local link",
        [first, ..] if first & 0xff00 == 0xff00 => "a group of machines",
        _ => "a reserved address",
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(address: &str, expected: Option<&str>) {
        let parsed = address.parse().expect("an address");
        assert_eq!(not_public(parsed), expected, "{address}");
    }

    #[test]
    fn each_network_that_is_not_public_is_told_from_its_neighbours() {
        for (inside, before, after) in [
            (["0.0.0.0", "0.255.255.255"], "1.0.0.0", "1.0.0.0"),
            (["10.0.0.0", "10.255.255.255"], "9.255.255.255", "11.0.0.0"),
            (["100.64.0.0", "100.127.255.255"], "100.63.255.255", "100.128.0.0"),
            (["127.0.0.1", "127.255.255.255"], "126.255.255.255", "128.0.0.0"),
            (["168.63.129.16", "168.63.129.16"], "168.63.129.15", "168.63.129.17"),
            (["169.254.0.0", "169.254.169.254"], "169.253.255.255", "169.255.0.0"),
            (["172.16.0.0", "172.31.255.255"], "172.15.255.255", "172.32.0.0"),
            (["192.0.0.192", "192.0.2.255"], "191.255.255.255", "192.0.3.0"),
            (["192.88.99.1", "192.88.99.255"], "192.88.98.255", "192.88.100.0"),
            (["192.168.0.0", "192.168.255.255"], "192.167.255.255", "192.169.0.0"),
            (["198.18.0.0", "198.19.255.255"], "198.17.255.255", "198.20.0.0"),
            (["198.51.100.0", "198.51.100.255"], "198.51.99.255", "198.51.101.0"),
            (["203.0.113.0", "203.0.113.255"], "203.0.112.255", "203.0.114.0"),
            (["224.0.0.0", "255.255.255.255"], "223.255.255.255", "223.255.255.255"),
        ] {
            check(before, None);
            check(after, None);
            for address in inside {
                let parsed = address.parse().expect("an address");
                assert!(not_public(parsed).is_some(), "{address}");
            }
        }
    }

    #[test]
    fn of_ipv6_only_what_is_handed_out_to_the_public_is_public() {
        check("2606:4700::1111", None);
        check("2001:4860:4860::8888", None);
        check("2a00::1", None);
        check("::", Some("this machine"));
        check("::1", Some("this machine"));
        check("::ffff:8.8.8.8", Some("an address of IPv4 in that of IPv6"));
        check("::ffff:127.0.0.1", Some("an address of IPv4 in that of IPv6"));
        check("::127.0.0.1", Some("a reserved address"));
        check("64:ff9b::7f00:1", Some("an address of IPv4 behind a translator"));
        check("64:ff9b:1::7f00:1", Some("an address of IPv4 behind a translator"));
        check("2002:7f00:1::", Some("an address of IPv4 in that of a tunnel"));
        check("2001::1", Some("a reserved address"));
        check("2001:db8::1", Some("a reserved address"));
        check("3fff::1", Some("a reserved address"));
        check("fd00:ec2::254", Some("a private network"));
        check("fe80::1", Some("the local link"));
        check("fec0::1", Some("a reserved address"));
        check("ff02::1", Some("a group of machines"));
        check("100::1", Some("a reserved address"));
    }
}
