import Peers
import Testing

/// Each fault alone, made for real in networks of our own: the diagnosis names that one and no other.
@Suite(.serialized) struct FaultTests {
    struct Fault: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var url = "http://www.lab.test/"
        var commands: [String] = []
        var nameServers = ["127.0.0.1"]
        var hosts = ""
        var verdict: String
    }

    static let faults = [
        Fault(testDescription: "none", verdict: "fine"),
        Fault(testDescription: "interface switched off", commands: ["ip link set outside down"], verdict: "linkOff"),
        Fault(
            testDescription: "cable pulled out",
            commands: [
                "nsenter --target $router --net ip link set far down",
                "until ip link show outside | grep -q 'state LOWERLAYERDOWN\\|NO-CARRIER'; do :; done",
            ], verdict: "noCarrier"),
        Fault(testDescription: "no address", commands: ["ip address flush dev outside"], verdict: "noAddress"),
        Fault(
            testDescription: "nobody gives out addresses",
            commands: ["ip address flush dev outside", "ip address add 169.254.7.7/16 dev outside"],
            verdict: "linkLocalOnly"),
        Fault(testDescription: "no default route", commands: ["ip route delete default"], verdict: "noRoute"),
        Fault(
            testDescription: "a route that forbids", commands: ["ip route add prohibit 198.51.100.7/32"],
            verdict: "noRoute"),
        Fault(
            testDescription: "router gone",
            commands: ["nsenter --target $router --net ip address delete 192.0.2.254/24 dev far"],
            verdict: "gatewaySilent"),
        Fault(testDescription: "nobody at an address of the link", url: "http://192.0.2.99/", verdict: "hostSilent"),
        Fault(
            testDescription: "name server behind a black hole", nameServers: ["198.51.100.9"],
            verdict: "nameServersSilent"),
        Fault(
            testDescription: "no name server at that address", nameServers: ["127.0.0.7"], verdict: "nameServersFail"),
        Fault(testDescription: "name server that refuses", url: "http://www.example.com/", verdict: "nameServersFail"),
        Fault(
            testDescription: "one of two name servers dead", nameServers: ["127.0.0.1", "198.51.100.9"],
            verdict: "fine nameServerBad"),
        Fault(testDescription: "no such name", url: "http://nowhere.lab.test/", verdict: "nameUnknown"),
        Fault(
            testDescription: "old line in the hosts file", hosts: "198.51.100.9 www.lab.test",
            verdict: "hostsEntryStale"),
        Fault(testDescription: "closed port", url: "http://www.lab.test:81/", verdict: "portRefused"),
        Fault(testDescription: "black hole", url: "http://198.51.100.9/", verdict: "noAnswer"),
        Fault(testDescription: "router says unreachable", url: "http://198.51.100.8/", verdict: "hostUnreachable"),
        Fault(testDescription: "no TLS at that port", url: "https://www.lab.test:80/", verdict: "notTLS"),
        // Odd, and healthy.
        Fault(
            testDescription: "a route to the target alone",
            commands: ["ip route delete default", "ip route add 198.51.100.7/32 via 192.0.2.254"], verdict: "fine"),
        Fault(
            testDescription: "a second interface without a cable",
            commands: ["ip link add spare type veth peer name spare-far", "ip link set spare up"], verdict: "fine"),
        // Two faults: the lower rung.
        Fault(
            testDescription: "no default route, and a dead name server", commands: ["ip route delete default"],
            nameServers: ["198.51.100.9"], verdict: "noRoute"),
        Fault(
            testDescription: "router gone, and a closed port", url: "http://198.51.100.7:81/",
            commands: ["nsenter --target $router --net ip address delete 192.0.2.254/24 dev far"],
            verdict: "gatewaySilent"),
    ]

    @Test(.timeLimit(.minutes(2)), arguments: faults)
    func theFaultIsNamed(_ fault: Fault) async throws {
        let verdict = try await FaultLab.diagnose(
            fault.url, fault: fault.commands, nameServers: fault.nameServers, hosts: fault.hosts)
        #expect(verdict == fault.verdict)
    }
}
