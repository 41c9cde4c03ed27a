/// The catalogue of NetDiag's sentences, except for the advice, which is in FindingAdvice.swift.
extension Sentence {
    // MARK: Passive status

    static let networkFine = Sentence("diag.fine", "This machine's network appears to work.")
    static func thisMachine(_ address: String) -> Sentence {
        Sentence("diag.thisMachine", "%1 is an address of this machine.", address)
    }
    static func kernelSilent(_ reason: String) -> Sentence {
        Sentence("diag.kernelSilent", "The kernel's network state cannot be read: %1", reason)
    }
    static func noRouteKnown(_ target: String) -> Sentence {
        target.isEmpty
            ? Sentence(
                "diag.noDefaultRoute", "There is no default route: only hosts on the local link can be reached.")
            : Sentence("diag.noRoute", "There is no route to %1.", target)
    }

    // MARK: Link and address

    static let noInterface = Sentence("diag.noInterface", "This machine has no network interface besides loopback.")
    static func linkOff(_ names: String) -> Sentence {
        Sentence("diag.linkOff", "Every network interface is down: %1.", names)
    }
    static func noCarrier(_ names: String) -> Sentence {
        Sentence("diag.noCarrier", "No network interface is connected (no carrier): %1.", names)
    }
    static func duplicateAddress(_ address: String, _ interface: String) -> Sentence {
        Sentence(
            "diag.duplicateAddress", "Address conflict: another machine also uses %1, the address of %2.", address,
            interface)
    }
    static func linkLocalOnly(_ addresses: String) -> Sentence {
        Sentence(
            "diag.linkLocalOnly",
            "This machine has only link-local addresses: %1. No DHCP server or router has assigned another.", addresses)
    }
    static func noAddress(_ names: String) -> Sentence {
        Sentence("diag.noAddress", "No connected network interface has an address: %1.", names)
    }

    static func familyMissing(_ host: String, _ hostFamily: String, _ machineFamily: String) -> Sentence {
        Sentence(
            "diag.familyMissing", "%1 has only %2 addresses, but this machine has only %3 addresses.", host, hostFamily,
            machineFamily
        )
    }
    static func leaseOverdue(_ address: String, _ seconds: String) -> Sentence {
        Sentence(
            "diag.leaseOverdue", "The lease of the address %1 was not renewed and expires in %2 s.", address,
            seconds)
    }
    static func leaseExpired(_ address: String, _ interface: String, _ time: String) -> Sentence {
        Sentence(
            "diag.leaseExpired",
            "The DHCP lease of %1 on %2 expired on %3, and no server has assigned another address.",
            address, interface, time)
    }

    // MARK: Route and gateway

    static func routeRefused(_ target: String) -> Sentence {
        Sentence("diag.routeRefused", "This machine's routing table forbids sending to %1.", target)
    }
    static func gatewaySilent(_ gateway: String, _ interface: String) -> Sentence {
        Sentence("diag.gatewaySilent", "The router %1 does not answer on %2.", gateway, interface)
    }
    static func hostSilent(_ host: String, _ interface: String) -> Sentence {
        Sentence("diag.hostSilent", "%1 is on the local link (%2) but does not answer.", host, interface)
    }

    // MARK: Name

    static let noNameServers = Sentence("diag.noNameServers", "No name server is configured.")
    static func nameServersSilent(_ servers: String) -> Sentence {
        Sentence("diag.nameServersSilent", "No name server answers: %1.", servers)
    }
    static func nameServersRefuse(_ servers: String) -> Sentence {
        Sentence("diag.nameServersRefuse", "The name servers refuse the query: %1.", servers)
    }
    static func nameServersFail(_ servers: String) -> Sentence {
        Sentence("diag.nameServersFail", "No name server gives a usable answer: %1.", servers)
    }
    static func nameServersOnlyTCP(_ servers: String) -> Sentence {
        Sentence(
            "diag.nameServersOnlyTCP", "The name servers answer over TCP but not over UDP: %1.", servers
        )
    }
    static func nameServersOnlyUDP(_ servers: String) -> Sentence {
        Sentence(
            "diag.nameServersOnlyUDP",
            "The answer of the name servers is too long for UDP, and they cannot be reached over TCP: %1.", servers)
    }
    static func nameServerLies(_ name: String, _ wrong: String, _ right: String) -> Sentence {
        Sentence(
            "diag.nameServerLies",
            "%1 resolves to %2, which does not work; a name server answers %3, which works.",
            name, wrong, right)
    }
    static func nameInvented(_ name: String, _ addresses: String) -> Sentence {
        Sentence(
            "diag.nameInvented", "The name servers answer %2 for %1, and the same for names that do not exist.",
            name,
            addresses)
    }
    static func nameServerInvents(_ server: String, _ addresses: String) -> Sentence {
        Sentence(
            "diag.nameServerInvents", "The name server %1 answers %2 for names that do not exist.", server, addresses)
    }
    static func nameBlocked(_ name: String, _ address: String) -> Sentence {
        Sentence("diag.nameBlocked", "%1 is blocked: a filter answers %2 instead of its address.", name, address)
    }
    static func nameServerBad(_ server: String, _ reason: String) -> Sentence {
        Sentence("diag.nameServerBad", "The name server %1 gives no usable answer: %2.", server, reason)
    }
    static func nameUnknown(_ name: String) -> Sentence {
        Sentence("diag.nameUnknown", "The host name %1 does not exist.", name)
    }
    static func nameWithoutAddress(_ name: String) -> Sentence {
        Sentence("diag.nameWithoutAddress", "The host name %1 exists but has no address.", name)
    }
    static func hostsEntryStale(_ name: String, _ file: String, _ servers: String) -> Sentence {
        Sentence(
            "diag.hostsEntryStale", "The hosts file maps %1 to %2, but the name servers answer %3.", name, file, servers
        )
    }
    static func nameLookupFailed(_ name: String, _ reason: String) -> Sentence {
        Sentence("diag.nameLookupFailed", "Looking up the host name %1 failed: %2", name, reason)
    }

    // MARK: Proxy

    static func proxySettingsUnreadable(_ reason: String) -> Sentence {
        Sentence("diag.proxySettings", "The proxy settings cannot be read: %1", reason)
    }
    static func proxyUnknown(_ proxy: String, _ reason: String) -> Sentence {
        Sentence("diag.proxyUnknown", "The host name of the proxy %1 cannot be resolved: %2", proxy, reason)
    }
    static func proxyUnreachable(_ proxy: String, _ reason: String) -> Sentence {
        Sentence("diag.proxyUnreachable", "The proxy %1 cannot be reached: %2", proxy, reason)
    }
    static func proxyWrong(_ proxy: String, _ kind: String, _ reason: String) -> Sentence {
        Sentence("diag.proxyWrong", "%1 is not a proxy of type %2: %3", proxy, kind, reason)
    }
    static func proxyCredentialsWanted(_ proxy: String) -> Sentence {
        Sentence("diag.proxyCredentials", "The proxy %1 requires a user name and password.", proxy)
    }
    static func proxyForbids(_ proxy: String, _ target: String, _ reason: String) -> Sentence {
        Sentence("diag.proxyForbids", "The proxy %1 forbids connections to %2: %3", proxy, target, reason)
    }
    static func proxyFails(_ proxy: String, _ target: String, _ reason: String) -> Sentence {
        Sentence("diag.proxyFails", "The proxy %1 cannot reach %2: %3", proxy, target, reason)
    }
    static let settingsScript = Sentence("diag.settingsScript", "The proxy script in the settings")
    static func proxyScript(_ script: String, _ reason: String) -> Sentence {
        Sentence("diag.proxyScript", "%1 chooses the proxy but was not run. %2", script, reason)
    }
    static func proxyScriptUnreachable(_ script: String, _ reason: String) -> Sentence {
        Sentence("diag.proxyScriptUnreachable", "%1, which chooses the proxy, cannot be loaded: %2", script, reason)
    }
    static func proxyScriptBroken(_ script: String, _ reason: String) -> Sentence {
        Sentence("diag.proxyScriptBroken", "%1 failed to choose a proxy: %2", script, reason)
    }
    static func proxyStatus(_ status: String) -> Sentence {
        Sentence("diag.proxyStatus", "it answered with status %1.", status)
    }

    // MARK: Connection

    static func portRefused(_ target: String) -> Sentence {
        Sentence(
            "diag.portRefused", "%1 can be reached but refuses the connection: nothing listens on that port.", target)
    }
    static func noAnswer(_ target: String) -> Sentence {
        Sentence("diag.noAnswer", "%1 does not answer, and no router reports why.", target)
    }
    static func hostUnreachable(_ target: String) -> Sentence {
        Sentence("diag.hostUnreachable", "A router on the path reports that %1 cannot be reached.", target)
    }
    static func connectionBroken(_ target: String, _ reason: String) -> Sentence {
        Sentence("diag.connectionBroken", "The connection to %1 was lost: %2", target, reason)
    }
    static func familyBroken(_ broken: String, _ working: String, _ reason: String) -> Sentence {
        Sentence("diag.familyBroken", "This host cannot be reached over %1, only over %2. %3", broken, working, reason)
    }
    static func portFiltered(_ target: String) -> Sentence {
        Sentence("diag.portFiltered", "The host answers, but packets to %1 are dropped.", target)
    }
    static func connectionForbidden(_ target: String, _ firewall: String) -> Sentence {
        Sentence("diag.connectionForbidden", "A firewall on %2 forbids connections to %1.", target, firewall)
    }
    static let thisMachineItself = Sentence("diag.itself", "this machine")
    static func packetsTooLarge(_ target: String, _ full: String, _ largest: String) -> Sentence {
        Sentence(
            "diag.packetsTooLarge",
            "Packets of %2 bytes to %1 are lost without an ICMP error; packets of %3 bytes arrive.", target,
            full,
            largest)
    }
    static func connectionFailed(_ target: String, _ reason: String) -> Sentence {
        Sentence("diag.connectionFailed", "Connecting to %1 failed: %2", target, reason)
    }

    // MARK: Security and answer

    static func securityFailed(_ target: String, _ reason: String) -> Sentence {
        Sentence("diag.securityFailed", "The TLS connection to %1 failed: %2", target, reason)
    }
    static func clockWrong(_ machineTime: String, _ serverTime: String) -> Sentence {
        Sentence(
            "diag.clockWrong", "This machine's clock is wrong: it shows %1, and the server's clock shows %2.",
            machineTime,
            serverTime)
    }
    static func certificateIntercepted(_ target: String, _ issuer: String) -> Sentence {
        Sentence(
            "diag.intercepted", "The TLS connection to %1 is intercepted: the certificate was issued by %2.",
            target,
            issuer)
    }
    static func notFTP(_ target: String) -> Sentence {
        Sentence("diag.notFTP", "The server at %1 does not speak FTP.", target)
    }
    static func captivePortal(_ target: String, _ signInPage: String) -> Sentence {
        signInPage.isEmpty
            ? Sentence("diag.portal", "This network answers in place of %1 until you sign in.", target)
            : Sentence(
                "diag.portalAt", "This network answers in place of %1 until you sign in at %2", target,
                signInPage)
    }
    static func redirectLoop(_ target: String, _ location: String) -> Sentence {
        Sentence("diag.redirectLoop", "The redirects of %1 form a loop: they lead back to %2.", target, location)
    }
    static func notHTTP(_ target: String) -> Sentence {
        Sentence("diag.notHTTP", "The server at %1 does not speak HTTP.", target)
    }
    static func ledElsewhere(_ target: String, _ location: String) -> Sentence {
        Sentence("diag.ledElsewhere", "%1 redirects to another host: %2", target, location)
    }
    static func answeredStatus(_ target: String, _ status: String) -> Sentence {
        Sentence("diag.status", "%1 answered with code %2.", target, status)
    }
    static func requestsLimited(_ target: String, until time: String?) -> Sentence {
        time.map {
            Sentence("diag.limitedUntil", "%1 limits requests (429); it allows the next one after %2.", target, $0)
        }
            ?? Sentence("diag.limited", "%1 limits requests (429).", target)
    }
    static func tlsExpected(_ target: String) -> Sentence {
        Sentence("diag.tlsExpected", "%1 expects TLS, which an http URL does not use.", target)
    }
    static func answerMissing(_ target: String, _ reason: String) -> Sentence {
        Sentence("diag.answerMissing", "%1 did not answer the request: %2", target, reason)
    }
    static func credentialsWanted(_ target: String, _ schemes: String) -> Sentence {
        schemes.isEmpty
            ? Sentence("diag.credentials", "%1 requires a user name and password.", target)
            : Sentence("diag.credentialsBy", "%1 requires authentication (%2).", target, schemes)
    }
    static func credentialsRefused(_ target: String, _ reason: String) -> Sentence {
        Sentence("diag.credentialsRefused", "%1 rejected the credentials: %2", target, reason)
    }
    static func clientCertificateWanted(_ target: String) -> Sentence {
        Sentence("diag.clientCertificate", "%1 requires a client certificate.", target)
    }

    static func loadFailed(_ reason: String) -> Sentence {
        Sentence("diag.loadFailed", "%1", reason)
    }

    // MARK: Address families

    static func familyBroken(_ family: String, because reason: String) -> Sentence {
        reason.isEmpty
            ? Sentence("diag.family.brokenAlone", "%1: broken", family)
            : Sentence("diag.family.broken", "%1: broken: %2", family, reason)
    }
    static func familyWorks(_ family: String) -> Sentence { Sentence("diag.family.works", "%1: works", family) }
    static func familyNotHere(_ family: String) -> Sentence {
        Sentence("diag.family.notHere", "%1: this machine has no %1 address", family)
    }
    static func familyNotThere(_ family: String) -> Sentence {
        Sentence("diag.family.notThere", "%1: the host has no %1 address", family)
    }
    static func familyUnknown(_ family: String) -> Sentence {
        Sentence("diag.family.unknown", "%1: not checked", family)
    }

    // MARK: A whole diagnosis

    static func works(_ target: String) -> Sentence { Sentence("diag.works", "%1 works.", target) }
    static let machineWorks = Sentence("diag.machineWorks", "This machine's network works.")

    // MARK: What could not be checked

    static func noPings(_ reason: String) -> Sentence {
        Sentence(
            "diag.noPings",
            "This machine does not allow programs to ping (%1); the kernel's neighbour table was read instead.",
            reason)
    }
    static let noDuplicateCheck = Sentence(
        "diag.noDuplicateCheck",
        "Whether another machine uses the same IPv4 address cannot be checked without root privileges.")
    static let noCredentialsSent = Sentence(
        "diag.noCredentialsSent", "A diagnosis sends no credentials, so nothing behind the proxy was checked.")
    static let noCookiesSent = Sentence(
        "diag.noCookiesSent", "A diagnosis sends no cookies, and without them this server redirects in a loop.")
    static let noQuerySent = Sentence(
        "diag.noQuerySent",
        "The URL's query was not sent, since it may hold a secret; without it, the server refuses the request.")
    static func noPathCheck(_ reason: String) -> Sentence {
        Sentence("diag.noPathCheck", "The path to the host could not be traced: %1.", reason)
    }
}
