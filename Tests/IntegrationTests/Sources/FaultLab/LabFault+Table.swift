/// The table. Each network differs from a healthy one only in what its row states.
extension LabFault {
    /// Networks with one fault.
    public static let single: [LabFault] = lower + names + proxies + scripts + connections + security + answers

    /// One network for each rung of the ladder, from the cable up.
    public static let rungs: [LabFault] = [
        "cable unplugged", "no address", "no default route", "router off, address known", "no such name",
        "proxy is off",
        "closed port", "path MTU black hole", "certificate expired", "SSH server instead of a web server",
        "a page that requires a login",
    ].compactMap { name in single.first { $0.name == name } }

    private static let https = "https://www.peers.test/"

    private static let lower = [
        LabFault("interface switched off", "linkOff", ["ip link set outside down"]),
        LabFault(
            "cable unplugged", "noCarrier",
            ["R ip link set far down", "until ip link show outside | grep -q 'NO-CARRIER'; do sleep 0.02; done"]),
        LabFault("no address", "noAddress", ["ip address flush dev outside"]),
        LabFault(
            "no DHCP server: a self-assigned address", "linkLocalOnly",
            ["ip address flush dev outside", "ip address add 169.254.7.7/16 dev outside"]),
        LabFault(
            "an expired lease", "leaseExpired",
            [
                "mount -t tmpfs lab /var/lib", "mkdir /var/lib/dhcp",
                "echo 'lease { interface \"outside\"; fixed-address 192.0.2.1; expire 6 2025/01/04 08:00:00; }' >/var/lib/dhcp/dhclient.outside.leases",
                "ip -6 address flush dev outside",
                "ip address change 192.0.2.1/24 dev outside valid_lft 1 preferred_lft 1",
                "while ip address show outside | grep -q 192.0.2.1; do sleep 0.02; done",
            ]),
        LabFault(
            "an expired lease, and no record of it", "noAddress",
            [
                "ip -6 address flush dev outside",
                "ip address change 192.0.2.1/24 dev outside valid_lft 1 preferred_lft 1",
                "while ip address show outside | grep -q 192.0.2.1; do sleep 0.02; done",
            ]),
        LabFault(
            "another machine has the same address", "duplicateAddress", url: "http://[2001:db8:2::7]/",
            [
                "ip address flush dev outside", "R ip address add 2001:db8:1::1/64 dev far nodad",
                "ip address add 2001:db8:1::1/64 dev outside",
                "until ip address show outside | grep -q dadfailed; do sleep 0.02; done",
            ]),
        LabFault(
            "an IPv6 host, and no IPv6 here", "familyMissing", url: "http://six.peers.test/",
            ["ip -6 address flush dev outside"]),
        LabFault(
            "no default route", "noRoute", url: "http://198.51.100.7/",
            ["ip route delete default", "ip -6 route delete default"]),
        LabFault("a prohibiting route", "routeRefused", ["ip route add prohibit 198.51.100.7/32"]),
        LabFault(
            "a prohibiting rule", "routeRefused", ["ip rule add to 198.51.100.7 prohibit"]),
        LabFault(
            "router off, address known", "gatewaySilent", url: "http://198.51.100.7/",
            ["R ip address delete 192.0.2.254/24 dev far"]),
        LabFault(
            "router off, and the name servers behind it", "gatewaySilent",
            ["R ip address delete 192.0.2.254/24 dev far"]),
        LabFault(
            "router off, pings permitted", "gatewaySilent",
            ["sysctl -qw net.ipv4.ping_group_range='0 2147483647'", "R ip address delete 192.0.2.254/24 dev far"]),
        LabFault(
            "router off, without privileges", "gatewaySilent", ["R ip address delete 192.0.2.254/24 dev far"],
            wrapper: ["setpriv", "--bounding-set", "-all", "--no-new-privs"],
            says: "not looked at: This machine does not allow programs to ping"),
        LabFault("no host at an address of the link", "hostSilent", url: "http://192.0.2.99/"),
    ]

    private static let names = [
        LabFault(
            "no name server configured", "noNameServers", nameServers: []),
        LabFault("name server behind a black hole", "nameServersSilent", nameServers: ["198.51.100.9"]),
        LabFault("no listener at the name server's address", "nameServersFail", nameServers: ["198.51.100.7"]),
        LabFault("a name server that refuses", "nameServersRefuse", nameServers: ["198.51.100.55"]),
        LabFault("a name server that fails", "nameServersFail", nameServers: ["198.51.100.56"]),
        LabFault(
            "UDP to name servers dropped", "nameServersOnlyTCP",
            [rules, "R nft add rule inet lab forward udp dport 53 drop"]),
        LabFault("a long answer, and no TCP to name servers", "nameServersOnlyUDP", nameServers: ["198.51.100.60"]),
        LabFault("no such name", "nameUnknown", url: "http://nowhere.peers.test/"),
        LabFault("a name without an address", "nameWithoutAddress", url: "http://quiet.peers.test/"),
        LabFault(
            "a name server that lies", "nameServerLies", nameServers: ["198.51.100.54", "198.51.100.53"]),
        LabFault(
            "mistyped name, and a name server that invents addresses", "nameInvented", url: "http://wwww.peers.test/",
            nameServers: ["198.51.100.57"]),
        LabFault("a filter blocks the name", "nameBlocked", nameServers: ["198.51.100.59"]),
        LabFault("an outdated line in the hosts file", "hostsEntryStale", hosts: "198.51.100.9 www.peers.test"),
    ]

    private static let proxies = [
        LabFault(
            "invalid proxy settings", "proxySettingsUnreadable", url: https,
            environment: ["https_proxy": "ftp://proxy"]),
        LabFault(
            "a proxy whose name does not exist", "proxyUnknown", url: https,
            environment: ["https_proxy": "http://old.peers.test:3128"]),
        LabFault(
            "proxy is off", "proxyUnreachable", url: https, environment: ["https_proxy": "http://proxy.peers.test:3199"]
        ),
        LabFault(
            "a proxy address without a proxy", "proxyWrong", url: https,
            environment: ["https_proxy": "http://198.51.100.99:80"]),
        LabFault(
            "SOCKS with an HTTP proxy", "proxyWrong", url: https,
            environment: ["all_proxy": "socks5h://198.51.100.99:3128"]),
        LabFault(
            "a proxy that requires a login", "proxyCredentialsWanted", url: https,
            environment: ["https_proxy": "http://198.51.100.99:3129"]),
        LabFault(
            "a SOCKS proxy that requires a login", "proxyCredentialsWanted", url: https,
            environment: ["all_proxy": "socks5h://198.51.100.99:1081"]),
        LabFault(
            "a proxy that forbids the target", "proxyForbids", url: https,
            environment: ["https_proxy": "http://198.51.100.99:3130"]),
        LabFault(
            "a proxy without a route to the target", "proxyFails", url: https,
            environment: ["https_proxy": "http://198.51.100.99:3131"]),
        LabFault(
            "a SOCKS proxy, and the target is off", "proxyFails", url: "https://www.peers.test:81/",
            environment: ["all_proxy": "socks5h://198.51.100.99:1080"]),
    ]

    private static let scripts = [
        scripted("a missing proxy script", "proxyScriptUnreachable", "http://www.peers.test/gone.pac"),
        scripted("a proxy script that requires a login", "proxyScriptUnreachable", "http://www.peers.test/private"),
        scripted("the proxy script's server is off", "proxyScriptUnreachable", "http://198.51.100.9/proxy.pac"),
        scripted(
            "a proxy script at a host that does not exist", "proxyScriptUnreachable", "http://wpad.peers.test/wpad.dat"),
        scripted(
            "a proxy script on a server with an unknown root", "proxyScriptUnreachable",
            "https://www.peers.test:8444/proxy.pac"),
        scripted("a proxy script with an error", "proxyScriptBroken", "http://www.peers.test/broken.pac"),
        scripted("a proxy script with an invalid answer", "proxyScriptBroken", "http://www.peers.test/nonsense.pac"),
        scripted("a proxy script that never ends", "proxyScriptBroken", "http://www.peers.test/endless.pac"),
        scripted("a proxy script that names a dead proxy", "proxyUnreachable", "http://www.peers.test/dead.pac"),
        scripted("a proxy script in a missing file", "proxyScriptUnreachable", "file:///nowhere.pac"),
    ]

    private static let connections = [
        LabFault("closed port", "portRefused", url: "http://www.peers.test:81/"),
        LabFault("host is off", "noAnswer", url: "http://198.51.100.9/"),
        LabFault("router reports the host unreachable", "hostUnreachable", url: "http://198.51.100.8/"),
        LabFault(
            "a firewall drops the port", "portFiltered", [rules, "R nft add rule inet lab forward tcp dport 80 drop"]),
        LabFault(
            "a firewall that reports it", "connectionForbidden",
            [rules, "R nft add rule inet lab forward ip daddr 198.51.100.7 reject with icmp type admin-prohibited"]),
        LabFault(
            "this machine's own firewall", "connectionForbidden",
            [ownRules, "nft add rule inet own output ip daddr 198.51.100.7 drop"]),
        LabFault(
            "connections are reset", "portRefused",
            [rules, "R nft add rule inet lab forward tcp dport 80 reject with tcp reset"]),
        LabFault(
            "path MTU black hole", "packetsTooLarge", url: https,
            [
                rules, "R ip link set far mtu 1300",
                "R nft add rule inet lab output icmp type destination-unreachable drop",
            ]),
    ]

    private static let security = [
        LabFault(
            "clock five years slow", "clockWrong", url: https, environment: ["DONT_FAKE_MONOTONIC": "1"],
            wrapper: ["faketime", "-f", "-5y"]),
        LabFault("certificate expired", "certificateExpired", url: "https://www.peers.test:8441/"),
        LabFault("certificate not yet valid", "certificateNotYetValid", url: "https://www.peers.test:8442/"),
        LabFault("certificate for another name", "certificateWrongName", url: "https://www.peers.test:8443/"),
        LabFault("certificate of an unknown root", "certificateUntrusted", url: "https://www.peers.test:8444/"),
        LabFault("self-signed certificate", "certificateUntrusted", url: "https://www.peers.test:8445/"),
        LabFault("a TLS interception", "certificateIntercepted", url: "https://www.peers.test:8449/"),
        LabFault("no TLS at that port", "notTLS", url: "https://www.peers.test:80/"),
        LabFault("a server with only obsolete TLS", "nothingInCommon", url: "https://www.peers.test:8447/"),
        LabFault(
            "a server that requires a client certificate", "clientCertificateWanted",
            url: "https://www.peers.test:8448/"),
    ]

    private static let answers = [
        LabFault("SSH server instead of a web server", "notHTTP", url: "http://www.peers.test:8093/"),
        LabFault("a web server instead of an FTP server", "notFTP", url: "ftp://www.peers.test:8093/"),
        LabFault("an FTP server with too many users", "serverBroken", url: "ftp://www.peers.test:2121/"),
        LabFault("a server that hangs", "answerMissing", url: "http://www.peers.test:8450/"),
        LabFault(
            "captive portal, plain page", "captivePortal",
            [portal]),
        LabFault(
            "captive portal, secure page", "captivePortal", url: https,
            [portal, "R nft add rule ip portal pre tcp dport 443 dnat to 198.51.100.7:8445"]),
        LabFault("captive portal that names itself (511)", "captivePortal", url: "http://www.peers.test:8092/"),
        LabFault("a redirect loop", "redirectLoop", url: "http://www.peers.test/circle"),
        LabFault("server broken", "serverBroken", url: "http://www.peers.test/broken"),
        LabFault("no such page", "requestRefused", url: "http://www.peers.test/nothing"),
        LabFault("a web page at a port for TLS", "tlsExpected", url: "http://www.peers.test:443/"),
        LabFault("a page that requires a login", "credentialsWanted", url: "http://www.peers.test/private"),
        LabFault("a forbidden page", "accessForbidden", url: "http://www.peers.test/forbidden"),
    ]

    // MARK: Settings

    /// A network whose machine has a settings file that leaves the proxy to a script.
    private static func scripted(
        _ name: String, _ verdict: String, _ script: String, url: String = https, _ commands: [String] = [],
        nameServers: [String] = ["198.51.100.53"]
    ) -> LabFault {
        let file = [
            "mount -t tmpfs lab /mnt", "mkdir /mnt/netkit", "echo 'auto_config_url = \(script)' >/mnt/netkit/proxies",
        ]
        return LabFault(
            name, verdict, url: url, file + commands, nameServers: nameServers, environment: ["XDG_CONFIG_HOME": "/mnt"]
        )
    }

    // MARK: Firewalls

    private static let rules =
        "R nft 'add table inet lab; add chain inet lab forward { type filter hook forward priority 0; }; add chain inet lab output { type filter hook output priority 0; }'"
    private static let ownRules =
        "nft 'add table inet own; add chain inet own output { type filter hook output priority 0; }'"
    private static let portal =
        "R nft 'add table ip portal; add chain ip portal pre { type nat hook prerouting priority -100; }; add rule ip portal pre tcp dport 80 dnat to 198.51.100.7:8091'"

    // MARK: Two faults

    /// Networks with two faults: the lower rung is named.
    public static let pairs = [
        LabFault(
            "no default route, and a dead name server", "noRoute",
            ["ip route delete default", "ip -6 route delete default"], nameServers: ["198.51.100.9"]),
        LabFault(
            "router off, and a closed port", "gatewaySilent", url: "http://198.51.100.7:81/",
            ["R ip address delete 192.0.2.254/24 dev far"]),
        LabFault(
            "cable unplugged, and an outdated line in the hosts file", "noCarrier",
            ["R ip link set far down", "until ip link show outside | grep -q 'NO-CARRIER'; do sleep 0.02; done"],
            hosts: "198.51.100.9 www.peers.test"),
        LabFault(
            "a name server that refuses, and an expired certificate", "nameServersRefuse",
            url: "https://www.peers.test:8441/", nameServers: ["198.51.100.55"]),
        LabFault(
            "proxy is off, and the page is missing", "proxyUnreachable", url: "http://www.peers.test/nothing",
            environment: ["http_proxy": "http://198.51.100.99:3199"]),
        scripted(
            "router off, and a missing proxy script", "gatewaySilent", "http://198.51.100.7/gone.pac",
            ["R ip address delete 192.0.2.254/24 dev far"]),
        scripted(
            "dead name server, and a proxy script with an error", "nameServersSilent",
            "http://www.peers.test/broken.pac",
            nameServers: ["198.51.100.9"]),
        scripted(
            "a missing proxy script, and an expired certificate", "proxyScriptUnreachable",
            "http://www.peers.test/gone.pac", url: "https://www.peers.test:8441/"),
        LabFault(
            "a filtered port, and a certificate of an unknown root", "portFiltered",
            url: "https://www.peers.test:8444/",
            [rules, "R nft add rule inet lab forward tcp dport 8444 drop"]),
        LabFault(
            "an expired certificate, and a forbidden page", "certificateExpired",
            url: "https://www.peers.test:8441/forbidden"),
    ]

    // MARK: Without a packet

    /// The status that the kernel knows without sending a packet.
    public static let passive = [
        LabFault("a working network", "up", url: "passive://"),
        LabFault("a working network, and a target", "up", url: "passive://198.51.100.7"),
        LabFault("interface switched off, passively", "down", url: "passive://", ["ip link set outside down"]),
        LabFault("only loopback", "down", url: "passive://", ["ip link delete outside"]),
        LabFault(
            "only a self-assigned address", "indeterminate", url: "passive://",
            ["ip address flush dev outside", "ip address add 169.254.7.7/16 dev outside"]),
        LabFault(
            "an address and no route", "indeterminate", url: "passive://",
            ["ip route delete default", "ip -6 route delete default"]),
        LabFault(
            "a prohibiting route, passively", "indeterminate", url: "passive://198.51.100.7",
            ["ip route add prohibit 198.51.100.7/32"]),
        LabFault("only IPv6", "up", url: "passive://", ["ip address delete 192.0.2.1/24 dev outside"]),
        LabFault("this machine itself", "up", url: "passive://127.0.0.1", ["ip link delete outside"]),
    ]

    // MARK: No fault

    /// Unusual but healthy networks, some with warnings.
    public static let healthy = [
        LabFault("nothing unusual", "fine", url: https),
        LabFault(
            "nothing unusual, without privileges", "fine", url: https,
            wrapper: ["setpriv", "--bounding-set", "-all", "--no-new-privs"]),
        LabFault("nothing unusual, FTP", "fine", url: "ftp://www.peers.test/"),
        LabFault("both families", "fine", url: "https://both.peers.test/"),
        LabFault("no IPv6 here", "fine", url: "https://both.peers.test/", ["ip -6 address flush dev outside"]),
        LabFault(
            "no IPv4 here", "fine", url: "http://[2001:db8:2::7]/", ["ip address delete 192.0.2.1/24 dev outside"]),
        LabFault(
            "a VPN's two half routes, and no default route", "fine",
            [
                "ip route delete default", "ip route add 0.0.0.0/1 via 192.0.2.254",
                "ip route add 128.0.0.0/1 via 192.0.2.254",
            ]),
        LabFault(
            "only a route to the target", "fine", url: "http://198.51.100.7/",
            ["ip route delete default", "ip route add 198.51.100.7/32 via 192.0.2.254"]),
        LabFault(
            "a default route without a router", "fine", url: "http://198.51.100.7/",
            ["R sysctl -qw net.ipv4.conf.far.proxy_arp=1", "ip route replace default dev outside"]),
        LabFault(
            "a second interface without a cable", "fine",
            ["ip link add spare type veth peer name spare-far", "ip link set spare up"]),
        LabFault(
            "only a proxy leads out, and there is no name server", "fine", url: https,
            ["ip route delete default", "ip route add 198.51.100.99/32 via 192.0.2.254"], nameServers: ["192.0.2.98"],
            environment: ["https_proxy": "http://198.51.100.99:3128"]),
        LabFault("http pages through a proxy", "fine", environment: ["http_proxy": "http://198.51.100.99:3128"]),
        LabFault("a SOCKS proxy", "fine", url: https, environment: ["all_proxy": "socks5h://198.51.100.99:1080"]),
        LabFault(
            "a proxy whose credentials are in the settings", "fine", url: https,
            environment: ["https_proxy": "http://ann:secret@198.51.100.99:3129"]),
        scripted("a proxy script", "fine", "http://www.peers.test/proxy.pac"),
        scripted("a proxy script that uses no proxy", "fine", "http://www.peers.test/direct.pac"),
        scripted(
            "a proxy script for a machine without a route", "fine", "http://198.51.100.7/proxy.pac",
            [
                "ip route delete default", "ip route add 198.51.100.99/32 via 192.0.2.254",
                "ip route add 198.51.100.7/32 via 192.0.2.254",
            ], nameServers: ["192.0.2.98"]),
        LabFault(
            "a dead proxy for other hosts only", "fine",
            environment: ["http_proxy": "http://198.51.100.99:3199", "no_proxy": ".peers.test"]),
        LabFault(
            "every name server is really one (captive DNS)", "fine",
            [
                "R nft 'add table ip names; add chain ip names pre { type nat hook prerouting priority -100; }'",
                "R nft add rule ip names pre udp dport 53 dnat to 198.51.100.53",
                "R nft add rule ip names pre tcp dport 53 dnat to 198.51.100.53",
            ], nameServers: ["203.0.113.53"]),
        LabFault("a name server that invents addresses for other names", "fine", nameServers: ["198.51.100.57"]),
        LabFault(
            "a router that ignores pings", "fine",
            [
                "sysctl -qw net.ipv4.ping_group_range='0 2147483647'", rules,
                "R nft 'add chain inet lab input { type filter hook input priority 0; }'",
                "R nft add rule inet lab input icmp type echo-request drop",
            ]),
        LabFault("a redirect to another host", "fine", url: "http://www.peers.test/moved"),
        LabFault("a server that requires cookies", "fine", url: "http://www.peers.test/cookie"),
        LabFault(
            "a smaller MTU that is announced", "fine", url: https,
            ["R ip link set far mtu 1300", "ip link set outside mtu 1300"]),
        // Healthy for this target, with a warning.
        scripted(
            "a proxy script that names a dead proxy first", "fine proxyUnreachable", "http://www.peers.test/spare.pac"),
        LabFault(
            "one of two name servers is dead", "fine nameServerBad", nameServers: ["198.51.100.53", "198.51.100.9"]),
        LabFault(
            "IPv6 does not work beyond the router", "fine familyBroken", url: "https://both.peers.test/",
            [rules, "R nft add rule inet lab forward meta nfproto ipv6 drop"]),
    ]
}
