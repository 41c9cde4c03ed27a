import Foundation
import Testing

@testable import NetDiag

/// A snapshot of every sentence with its key (ND-013). Translations and scripts depend on the keys, and users search for the texts:
/// a change here is visible to users and needs a line in CHANGELOG.md.
@Suite struct SentenceTests {
    /// The key, the text with the arguments A, B …, and the sentence.
    private static let sentences: [(key: String, text: String, sentence: Sentence)] =
        [
            ("diag.fine", "This machine's network appears to work.", .networkFine),
            ("diag.thisMachine", "A is an address of this machine.", .thisMachine("A")),
            ("diag.kernelSilent", "The kernel's network state cannot be read: A", .kernelSilent("A")),
            (
                "diag.noDefaultRoute", "There is no default route: only hosts on the local link can be reached.",
                .noRouteKnown("")
            ),
            ("diag.noRoute", "There is no route to A.", .noRouteKnown("A")),
            ("diag.noInterface", "This machine has no network interface besides loopback.", .noInterface),
            ("diag.linkOff", "Every network interface is down: A.", .linkOff("A")),
            ("diag.noCarrier", "No network interface is connected (no carrier): A.", .noCarrier("A")),
            (
                "diag.duplicateAddress", "Address conflict: another machine also uses A, the address of B.",
                .duplicateAddress("A", "B")
            ),
            (
                "diag.linkLocalOnly",
                "This machine has only link-local addresses: A. No DHCP server or router has assigned another.",
                .linkLocalOnly("A")
            ),
            ("diag.noAddress", "No connected network interface has an address: A.", .noAddress("A")),
            (
                "diag.familyMissing", "A has only B addresses, but this machine has only C addresses.",
                .familyMissing("A", "B", "C")
            ),
            (
                "diag.leaseOverdue", "The lease of the address A was not renewed and expires in B s.",
                .leaseOverdue("A", "B")
            ),
            (
                "diag.leaseExpired",
                "The DHCP lease of A on B expired on C, and no server has assigned another address.",
                .leaseExpired("A", "B", "C")
            ),
            ("diag.routeRefused", "This machine's routing table forbids sending to A.", .routeRefused("A")),
            ("diag.gatewaySilent", "The router A does not answer on B.", .gatewaySilent("A", "B")),
            ("diag.hostSilent", "A is on the local link (B) but does not answer.", .hostSilent("A", "B")),
            ("diag.noNameServers", "No name server is configured.", .noNameServers),
            ("diag.nameServersSilent", "No name server answers: A.", .nameServersSilent("A")),
            ("diag.nameServersRefuse", "The name servers refuse the query: A.", .nameServersRefuse("A")),
            ("diag.nameServersFail", "No name server gives a usable answer: A.", .nameServersFail("A")),
            (
                "diag.nameServersOnlyTCP", "The name servers answer over TCP but not over UDP: A.",
                .nameServersOnlyTCP("A")
            ),
            (
                "diag.nameServersOnlyUDP",
                "The answer of the name servers is too long for UDP, and they cannot be reached over TCP: A.",
                .nameServersOnlyUDP("A")
            ),
            (
                "diag.nameServerLies", "A resolves to B, which does not work; a name server answers C, which works.",
                .nameServerLies("A", "B", "C")
            ),
            (
                "diag.nameInvented", "The name servers answer B for A, and the same for names that do not exist.",
                .nameInvented("A", "B")
            ),
            (
                "diag.nameServerInvents", "The name server A answers B for names that do not exist.",
                .nameServerInvents("A", "B")
            ),
            ("diag.nameBlocked", "A is blocked: a filter answers B instead of its address.", .nameBlocked("A", "B")),
            ("diag.nameServerBad", "The name server A gives no usable answer: B.", .nameServerBad("A", "B")),
            ("diag.nameUnknown", "The host name A does not exist.", .nameUnknown("A")),
            ("diag.nameWithoutAddress", "The host name A exists but has no address.", .nameWithoutAddress("A")),
            (
                "diag.hostsEntryStale", "The hosts file maps A to B, but the name servers answer C.",
                .hostsEntryStale("A", "B", "C")
            ),
            ("diag.nameLookupFailed", "Looking up the host name A failed: B", .nameLookupFailed("A", "B")),
            ("diag.proxySettings", "The proxy settings cannot be read: A", .proxySettingsUnreadable("A")),
            ("diag.proxyUnknown", "The host name of the proxy A cannot be resolved: B", .proxyUnknown("A", "B")),
            ("diag.proxyUnreachable", "The proxy A cannot be reached: B", .proxyUnreachable("A", "B")),
            ("diag.proxyWrong", "A is not a proxy of type B: C", .proxyWrong("A", "B", "C")),
            ("diag.proxyCredentials", "The proxy A requires a user name and password.", .proxyCredentialsWanted("A")),
            ("diag.proxyForbids", "The proxy A forbids connections to B: C", .proxyForbids("A", "B", "C")),
            ("diag.proxyFails", "The proxy A cannot reach B: C", .proxyFails("A", "B", "C")),
            ("diag.settingsScript", "The proxy script in the settings", .settingsScript),
            ("diag.proxyScript", "A chooses the proxy but was not run. B", .proxyScript("A", "B")),
            (
                "diag.proxyScriptUnreachable", "A, which chooses the proxy, cannot be loaded: B",
                .proxyScriptUnreachable("A", "B")
            ),
            ("diag.proxyScriptBroken", "A failed to choose a proxy: B", .proxyScriptBroken("A", "B")),
            ("diag.proxyStatus", "it answered with status A.", .proxyStatus("A")),
            (
                "diag.portRefused", "A can be reached but refuses the connection: nothing listens on that port.",
                .portRefused("A")
            ),
            ("diag.noAnswer", "A does not answer, and no router reports why.", .noAnswer("A")),
            ("diag.hostUnreachable", "A router on the path reports that A cannot be reached.", .hostUnreachable("A")),
            ("diag.connectionBroken", "The connection to A was lost: B", .connectionBroken("A", "B")),
            ("diag.familyBroken", "This host cannot be reached over A, only over B. C", .familyBroken("A", "B", "C")),
            ("diag.portFiltered", "The host answers, but packets to A are dropped.", .portFiltered("A")),
            ("diag.connectionForbidden", "A firewall on B forbids connections to A.", .connectionForbidden("A", "B")),
            ("diag.itself", "this machine", .thisMachineItself),
            (
                "diag.packetsTooLarge",
                "Packets of B bytes to A are lost without an ICMP error; packets of C bytes arrive.",
                .packetsTooLarge("A", "B", "C")
            ),
            ("diag.connectionFailed", "Connecting to A failed: B", .connectionFailed("A", "B")),
            ("diag.securityFailed", "The TLS connection to A failed: B", .securityFailed("A", "B")),
            (
                "diag.clockWrong", "This machine's clock is wrong: it shows A, and the server's clock shows B.",
                .clockWrong("A", "B")
            ),
            (
                "diag.intercepted", "The TLS connection to A is intercepted: the certificate was issued by B.",
                .certificateIntercepted("A", "B")
            ),
            ("diag.notFTP", "The server at A does not speak FTP.", .notFTP("A")),
            ("diag.portal", "This network answers in place of A until you sign in.", .captivePortal("A", "")),
            ("diag.portalAt", "This network answers in place of A until you sign in at B", .captivePortal("A", "B")),
            ("diag.redirectLoop", "The redirects of A form a loop: they lead back to B.", .redirectLoop("A", "B")),
            ("diag.notHTTP", "The server at A does not speak HTTP.", .notHTTP("A")),
            ("diag.ledElsewhere", "A redirects to another host: B", .ledElsewhere("A", "B")),
            ("diag.status", "A answered with code B.", .answeredStatus("A", "B")),
            (
                "diag.limitedUntil", "A limits requests (429); it allows the next one after B.",
                .requestsLimited("A", until: "B")
            ),
            ("diag.limited", "A limits requests (429).", .requestsLimited("A", until: nil)),
            ("diag.tlsExpected", "A expects TLS, which an http URL does not use.", .tlsExpected("A")),
            ("diag.answerMissing", "A did not answer the request: B", .answerMissing("A", "B")),
            ("diag.credentials", "A requires a user name and password.", .credentialsWanted("A", "")),
            ("diag.credentialsBy", "A requires authentication (B).", .credentialsWanted("A", "B")),
            ("diag.credentialsRefused", "A rejected the credentials: B", .credentialsRefused("A", "B")),
            ("diag.clientCertificate", "A requires a client certificate.", .clientCertificateWanted("A")),
            ("diag.loadFailed", "A", .loadFailed("A")),
            ("diag.family.brokenAlone", "A: broken", .familyBroken("A", because: "")),
            ("diag.family.broken", "A: broken: B", .familyBroken("A", because: "B")),
            ("diag.family.works", "A: works", .familyWorks("A")),
            ("diag.family.notHere", "A: this machine has no A address", .familyNotHere("A")),
            ("diag.family.notThere", "A: the host has no A address", .familyNotThere("A")),
            ("diag.family.unknown", "A: not checked", .familyUnknown("A")),
            ("diag.works", "A works.", .works("A")),
            ("diag.machineWorks", "This machine's network works.", .machineWorks),
            (
                "diag.noPings",
                "This machine does not allow programs to ping (A); the kernel's neighbour table was read instead.",
                .noPings("A")
            ),
            (
                "diag.noDuplicateCheck",
                "Whether another machine uses the same IPv4 address cannot be checked without root privileges.",
                .noDuplicateCheck
            ),
            (
                "diag.noCredentialsSent", "A diagnosis sends no credentials, so nothing behind the proxy was checked.",
                .noCredentialsSent
            ),
            (
                "diag.noCookiesSent", "A diagnosis sends no cookies, and without them this server redirects in a loop.",
                .noCookiesSent
            ),
            (
                "diag.noQuerySent",
                "The URL's query was not sent, since it may hold a secret; without it, the server refuses the request.",
                .noQuerySent
            ),
            ("diag.noPathCheck", "The path to the host could not be traced: A.", .noPathCheck("A")),
        ]

    /// What the user can do, by the code of the finding.
    private static let advice: [(code: FindingCode, text: String)] =
        [
            (
                .noInterface,
                "Plug in or enable a network adapter; in a container or virtual machine, attach it to a network."
            ),
            (.linkOff, "Enable the interface in the desktop's network settings, or with `ip link set NAME up`."),
            (.noCarrier, "Check the cable at both ends, the switch, or the wireless connection."),
            (
                .duplicateAddress,
                "Give one of the two machines another address; with DHCP, renew the lease and look for a second DHCP server."
            ),
            (
                .linkLocalOnly,
                "Renew the DHCP lease and check that the DHCP server or router is on, or set an address manually."
            ),
            (
                .noAddress,
                "Renew the DHCP lease and check that the DHCP server or router is on, or set an address manually."
            ),
            (
                .leaseExpired,
                "Renew the DHCP lease and check that the DHCP server or router is on, or set an address manually."
            ),
            (
                .familyMissing,
                "Configure an address of the missing family on this machine, or use a host that has addresses of both families."
            ),
            (.leaseOverdue, "Check that the DHCP server or router is on, and renew the lease before it expires."),
            (.noRoute, "Check the default gateway in the network settings, and whether a VPN has removed the route."),
            (.routeRefused, "Remove the rule that forbids this destination; `ip route get ADDRESS` shows it."),
            (
                .gatewaySilent,
                "Restart the router, and check that the gateway's address in the network settings is the router's."
            ),
            (.hostSilent, "Check that the host is on, is connected to this network, and has this address."),
            (.noNameServers, "Enter a name server in the network settings, or renew the DHCP lease."),
            (
                .nameServersSilent,
                "Check the name servers' addresses, and that no firewall blocks port 53; try another name server."
            ),
            (.nameServersRefuse, "Use name servers that serve this network, or contact the operator of these."),
            (
                .nameServersOnlyTCP,
                "A firewall drops UDP to port 53: contact its operator, or set `options use-vc` in resolv.conf."
            ),
            (.nameServersOnlyUDP, "A firewall drops TCP to port 53: contact its operator."),
            (.nameServerLies, "Use the other name server, or contact the operator of the wrong one."),
            (
                .nameInvented,
                "Check the spelling: the name probably does not exist. Use name servers that do not invent answers."
            ),
            (.nameServerInvents, "Programs cannot detect mistyped names: use name servers that do not invent answers."),
            (
                .nameBlocked,
                "If the name should not be blocked, remove it from the filter's list, or use other name servers."
            ),
            (.nameServersFail, "Contact the operator of the name servers, or use others."),
            (
                .nameServerBad,
                "Remove this name server from the network settings, or have it repaired: it slows down every lookup."
            ),
            (
                .nameUnknown,
                "Check the spelling. If the name is new or internal, check that this machine is in the right network."
            ),
            (
                .nameWithoutAddress,
                "Try another name, such as the same one with `www.` in front, or contact the operator of the domain."
            ),
            (.hostsEntryStale, "Remove or correct the name's line in the hosts file (/etc/hosts)."),
            (.nameLookupFailed, "Try again; if the failure persists, check this machine's resolver configuration."),
            (.proxySettingsUnreadable, "Correct the setting; a proxy is written kind://host:port."),
            (
                .proxyUnknown,
                "Check the proxy's name and port in the settings (`env | grep -i proxy`), and that this machine is in the proxy's network."
            ),
            (
                .proxyUnreachable,
                "Check the proxy's name and port in the settings (`env | grep -i proxy`), and that this machine is in the proxy's network."
            ),
            (.proxyWrong, "Check the proxy's type and port in the settings."),
            (.proxyCredentialsWanted, "Supply the proxy's user name and password."),
            (.proxyForbids, "Ask the proxy's operator for access, or exempt the host with `no_proxy`."),
            (
                .proxyFails,
                "If the target is inside your network, exempt it with `no_proxy`; otherwise contact the proxy's operator."
            ),
            (
                .proxyScript,
                "Install libjavascriptcoregtk-6.0-1 if it is missing, or set the proxy itself, as in `https_proxy=http://HOST:PORT`."
            ),
            (
                .proxyScriptUnreachable,
                "Check the script's URL in the proxy settings, and that this machine is in the network of its server."
            ),
            (
                .proxyScriptBroken,
                "Contact the author of the script; until it is fixed, set the proxy itself, as in `https_proxy=http://HOST:PORT`."
            ),
            (.portRefused, "Check the port number, and that the service runs on that machine."),
            (
                .noAnswer,
                "Check that the host is on; otherwise a firewall on the path drops the packets: contact its operator."
            ),
            (.portFiltered, "A firewall on the host or on the path drops the packets: contact its operator."),
            (.connectionForbidden, "Ask the operator of that firewall to allow the connection."),
            (
                .packetsTooLarge,
                "Reduce the packet size for now, as in `ip link set NAME mtu 1280`, and have the router forward ICMP 'packet too big'."
            ),
            (
                .hostUnreachable,
                "The failure is beyond the router that reports it: contact the operator of that network."
            ),
            (
                .connectionBroken,
                "Try again; if the failure persists, a firewall or a fault of the server ends connections."
            ),
            (
                .familyBroken,
                "Programs without a fallback will fail or be slow: have the address family repaired, or disable it."
            ),
            (
                .connectionFailed,
                "Try again; if the failure persists, give this finding and its evidence to the operator of the server."
            ),
            (.clockWrong, "Set this machine's clock, for example with `timedatectl set-ntp true`."),
            (
                .certificateIntercepted,
                "If your organisation or your virus scanner does this, install its root certificate. Otherwise do not continue."
            ),
            (.certificateRevoked, "Do not continue; contact the server's operator."),
            (.certificateExpired, "Ask the server's operator to renew the certificate, and check this machine's date."),
            (
                .certificateNotYetValid,
                "Check this machine's date and time; if they are right, contact the server's operator."
            ),
            (
                .certificateUntrusted,
                "If the server is your organisation's, install its root certificate. Otherwise the connection may be intercepted: do not continue."
            ),
            (
                .certificateWrongName,
                "Check the address you typed; if it is right, this is the wrong server: do not continue."
            ),
            (.notTLS, "Check the port, and whether the service there uses https, http or another protocol."),
            (.nothingInCommon, "The server and this program share no TLS version or cipher: update the older one."),
            (
                .securityFailed,
                "Try again; if the failure persists, give this finding and its evidence to the operator of the server."
            ),
            (.notHTTP, "Check the port: another service answers there."),
            (.notFTP, "Check the port: another service answers there."),
            (.captivePortal, "Open a browser, go to a page whose address begins with http://, and sign in."),
            (.ledElsewhere, "Follow the redirect if you trust the new address."),
            (.redirectLoop, "Contact the server's operator."),
            (.serverBroken, "Try again later, or contact the server's operator."),
            (.requestRefused, "Check the URL, and that you have access to it."),
            (.requestsLimited, "Wait, then send fewer requests. Access and the URL are not the problem."),
            (.tlsExpected, "Use https:// in the URL."),
            (.answerMissing, "Try again; if the failure persists, contact the server's operator."),
            (.credentialsWanted, "Supply a user name and password."),
            (
                .credentialsRefused,
                "Check the user name and password; the password may have changed, or the account may be locked."
            ),
            (.clientCertificateWanted, "Supply the client certificate that the server's operator has issued."),
            (.accessForbidden, "Ask the server's operator for access."),
        ]

    // Parity: ND-013
    @Test("ND-013: the text of each sentence") func texts() {
        for (key, text, sentence) in Self.sentences {
            #expect(sentence.key == key && sentence.description == text)
        }
    }

    // Parity: ND-013
    @Test("ND-013: each code has one piece of advice") func everyCodeHasAdvice() {
        for (code, text) in Self.advice {
            #expect(code.advice.key == "advice.\(code.rawValue)" && code.advice.description == text)
        }
        #expect(Set(Self.advice.map(\.code)) == Set(FindingCode.allCases))
        #expect(Self.advice.count == FindingCode.allCases.count)
    }

    // Parity: ND-013
    @Test("ND-013: the snapshot has every sentence of the sources, and each key once") func theSnapshotIsComplete()
        throws
    {
        let package = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let source = try String(
            contentsOf: package.appending(path: "Sources/NetDiag/Findings/FindingSentences.swift"), encoding: .utf8)
        let keys = source.matches(of: /Sentence\(\s*"([^"]+)"/).map { String($0.1) }
        #expect(keys == Self.sentences.map(\.key))
        #expect(Set(keys).count == keys.count)
    }
}
