/// The catalogue of NetDiag's sentences but for the advice, which is in FindingAdvice.swift.
extension Sentence {
    // MARK: Passive status

    static let networkFine = Sentence("diag.fine", "The network of this machine seems to work.")
    static func thisMachine(_ address: String) -> Sentence {
        Sentence("diag.thisMachine", "%1 is this machine.", address)
    }
    static func kernelSilent(_ reason: String) -> Sentence {
        Sentence("diag.kernelSilent", "The kernel does not tell about the network: %1", reason)
    }
    static func noRouteKnown(_ target: String) -> Sentence {
        target.isEmpty
            ? Sentence(
                "diag.noDefaultRoute", "There is no default route: only machines on the same link can be reached.")
            : Sentence("diag.noRoute", "There is no route to %1.", target)
    }

    // MARK: Link and address

    static let noInterface = Sentence("diag.noInterface", "This machine has no network interface.")
    static func linkOff(_ names: String) -> Sentence {
        Sentence("diag.linkOff", "Every network interface is switched off: %1.", names)
    }
    static func noCarrier(_ names: String) -> Sentence {
        Sentence("diag.noCarrier", "No network interface has a carrier: %1.", names)
    }
    static func duplicateAddress(_ address: String, _ interface: String) -> Sentence {
        Sentence("diag.duplicateAddress", "Another machine uses the address %1 of %2.", address, interface)
    }
    static func linkLocalOnly(_ addresses: String) -> Sentence {
        Sentence("diag.linkLocalOnly", "Nobody has given this machine an address; it only has %1.", addresses)
    }
    static func noAddress(_ names: String) -> Sentence {
        Sentence("diag.noAddress", "No network interface has an address: %1.", names)
    }

    static func familyMissing(_ host: String, _ there: String, _ here: String) -> Sentence {
        Sentence(
            "diag.familyMissing", "%1 has only %2 addresses, and this machine has only %3 addresses.", host, there, here
        )
    }
    static func leaseOverdue(_ address: String, _ seconds: String) -> Sentence {
        Sentence(
            "diag.leaseOverdue", "The address %1 will be taken away in %2 s: nobody has renewed its lease.", address,
            seconds)
    }
    static func leaseExpired(_ address: String, _ interface: String, _ time: String) -> Sentence {
        Sentence(
            "diag.leaseExpired", "The lease of %1 on %2 ran out on %3, and no DHCP server has given another address.",
            address, interface, time)
    }

    // MARK: Route and gateway

    static func routeRefused(_ target: String) -> Sentence {
        Sentence("diag.routeRefused", "This machine's routing forbids to send to %1.", target)
    }
    static func gatewaySilent(_ gateway: String, _ interface: String) -> Sentence {
        Sentence("diag.gatewaySilent", "The router %1 does not answer on %2.", gateway, interface)
    }
    static func hostSilent(_ host: String, _ interface: String) -> Sentence {
        Sentence("diag.hostSilent", "%1 is on the same link as this machine (%2) and does not answer.", host, interface)
    }

    // MARK: Name

    static let noNameServers = Sentence("diag.noNameServers", "No name server is configured.")
    static func nameServersSilent(_ servers: String) -> Sentence {
        Sentence("diag.nameServersSilent", "No name server answers: %1.", servers)
    }
    static func nameServersRefuse(_ servers: String) -> Sentence {
        Sentence("diag.nameServersRefuse", "The name servers refuse to answer: %1.", servers)
    }
    static func nameServersFail(_ servers: String) -> Sentence {
        Sentence("diag.nameServersFail", "The name servers fail: %1.", servers)
    }
    static func nameServersOnlyTCP(_ servers: String) -> Sentence {
        Sentence(
            "diag.nameServersOnlyTCP", "The name servers answer over TCP, and nothing comes back over UDP: %1.", servers
        )
    }
    static func nameServersOnlyUDP(_ servers: String) -> Sentence {
        Sentence(
            "diag.nameServersOnlyUDP",
            "The name servers' answer is too long for UDP, and TCP does not get through to them: %1.", servers)
    }
    static func nameServerLies(_ name: String, _ wrong: String, _ right: String) -> Sentence {
        Sentence(
            "diag.nameServerLies",
            "This machine is told that %1 is %2, which does not work; a name server says %3, which works.",
            name, wrong, right)
    }
    static func nameInvented(_ name: String, _ addresses: String) -> Sentence {
        Sentence(
            "diag.nameInvented", "The name servers say that %1 is %2, and say the same of names that do not exist.",
            name,
            addresses)
    }
    static func nameServerInvents(_ server: String, _ addresses: String) -> Sentence {
        Sentence(
            "diag.nameServerInvents", "The name server %1 says %2 for names that do not exist.", server, addresses)
    }
    static func nameBlocked(_ name: String, _ address: String) -> Sentence {
        Sentence("diag.nameBlocked", "A filter says that %1 is %2, which leads nowhere.", name, address)
    }
    static func nameServerBad(_ server: String, _ what: String) -> Sentence {
        Sentence("diag.nameServerBad", "The name server %1 does not do its work: %2.", server, what)
    }
    static func nameUnknown(_ name: String) -> Sentence {
        Sentence("diag.nameUnknown", "There is no host %1.", name)
    }
    static func nameWithoutAddress(_ name: String) -> Sentence {
        Sentence("diag.nameWithoutAddress", "The name %1 exists and has no address.", name)
    }
    static func hostsEntryStale(_ name: String, _ file: String, _ servers: String) -> Sentence {
        Sentence(
            "diag.hostsEntryStale", "The hosts file says that %1 is %2, the name servers say %3.", name, file, servers)
    }
    static func nameLookupFailed(_ name: String, _ reason: String) -> Sentence {
        Sentence("diag.nameLookupFailed", "The name %1 cannot be looked up: %2", name, reason)
    }

    // MARK: Proxy

    static func proxySettingsUnreadable(_ reason: String) -> Sentence {
        Sentence("diag.proxySettings", "The proxy settings cannot be read: %1", reason)
    }
    static func proxyUnknown(_ proxy: String, _ reason: String) -> Sentence {
        Sentence("diag.proxyUnknown", "The proxy %1 has a name that leads nowhere: %2", proxy, reason)
    }
    static func proxyUnreachable(_ proxy: String, _ reason: String) -> Sentence {
        Sentence("diag.proxyUnreachable", "The proxy %1 cannot be reached: %2", proxy, reason)
    }
    static func proxyWrong(_ proxy: String, _ kind: String, _ reason: String) -> Sentence {
        Sentence("diag.proxyWrong", "What is at %1 is no proxy of the kind %2: %3", proxy, kind, reason)
    }
    static func proxyCredentialsWanted(_ proxy: String) -> Sentence {
        Sentence("diag.proxyCredentials", "The proxy %1 wants a user name and password.", proxy)
    }
    static func proxyForbids(_ proxy: String, _ target: String, _ reason: String) -> Sentence {
        Sentence("diag.proxyForbids", "The proxy %1 forbids %2: %3", proxy, target, reason)
    }
    static func proxyFails(_ proxy: String, _ target: String, _ reason: String) -> Sentence {
        Sentence("diag.proxyFails", "The proxy %1 cannot reach %2: %3", proxy, target, reason)
    }
    static let settingsScript = Sentence("diag.settingsScript", "The script in the proxy settings")
    static func proxyScript(_ place: String, _ reason: String) -> Sentence {
        Sentence("diag.proxyScript", "%1 chooses the proxy and was not run. %2", place, reason)
    }
    static func proxyScriptUnreachable(_ place: String, _ reason: String) -> Sentence {
        Sentence("diag.proxyScriptUnreachable", "%1, which chooses the proxy, cannot be had: %2", place, reason)
    }
    static func proxyScriptBroken(_ place: String, _ reason: String) -> Sentence {
        Sentence("diag.proxyScriptBroken", "%1 cannot say which proxy to use: %2", place, reason)
    }
    static func proxyStatus(_ status: String) -> Sentence {
        Sentence("diag.proxyStatus", "it answers %1.", status)
    }

    // MARK: Connection

    static func portRefused(_ place: String) -> Sentence {
        Sentence("diag.portRefused", "%1 can be reached and refuses the connection: nothing listens there.", place)
    }
    static func noAnswer(_ place: String) -> Sentence {
        Sentence("diag.noAnswer", "%1 does not answer, and nothing on the way says why.", place)
    }
    static func hostUnreachable(_ place: String) -> Sentence {
        Sentence("diag.hostUnreachable", "A router on the way says that %1 cannot be reached.", place)
    }
    static func connectionBroken(_ place: String, _ reason: String) -> Sentence {
        Sentence("diag.connectionBroken", "The connection to %1 was broken off: %2", place, reason)
    }
    static func familyBroken(_ broken: String, _ working: String, _ reason: String) -> Sentence {
        Sentence("diag.familyBroken", "%1 does not get through to this host, %2 does. %3", broken, working, reason)
    }
    static func portFiltered(_ place: String) -> Sentence {
        Sentence("diag.portFiltered", "The host answers, but something drops what is sent to %1.", place)
    }
    static func connectionForbidden(_ place: String, _ who: String) -> Sentence {
        Sentence("diag.connectionForbidden", "A firewall at %2 forbids connections to %1.", place, who)
    }
    static let thisMachineItself = Sentence("diag.itself", "this machine")
    static func packetsTooLarge(_ place: String, _ full: String, _ largest: String) -> Sentence {
        Sentence(
            "diag.packetsTooLarge",
            "Packets of %2 bytes vanish on the way to %1, and nobody says so; those of %3 bytes get through.", place,
            full,
            largest)
    }
    static func connectionFailed(_ place: String, _ reason: String) -> Sentence {
        Sentence("diag.connectionFailed", "%1 cannot be connected to: %2", place, reason)
    }

    // MARK: Security and answer

    static func securityFailed(_ place: String, _ reason: String) -> Sentence {
        Sentence("diag.securityFailed", "No secure connection to %1: %2", place, reason)
    }
    static func clockWrong(_ here: String, _ there: String) -> Sentence {
        Sentence("diag.clockWrong", "This machine's clock says %1, the server's says %2.", here, there)
    }
    static func certificateIntercepted(_ place: String, _ issuer: String) -> Sentence {
        Sentence(
            "diag.intercepted", "Something on the way shows a certificate in the place of %1's: it is signed by %2.",
            place,
            issuer)
    }
    static func notFTP(_ place: String) -> Sentence {
        Sentence("diag.notFTP", "What answers at %1 does not speak FTP.", place)
    }
    static func captivePortal(_ place: String, _ target: String) -> Sentence {
        target.isEmpty
            ? Sentence("diag.portal", "This network answers in the place of %1: it wants you to sign in first.", place)
            : Sentence(
                "diag.portalAt", "This network answers in the place of %1: it wants you to sign in first, at %2", place,
                target)
    }
    static func redirectLoop(_ place: String, _ target: String) -> Sentence {
        Sentence("diag.redirectLoop", "The redirects of %1 lead round in a circle, back to %2.", place, target)
    }
    static func notHTTP(_ place: String) -> Sentence {
        Sentence("diag.notHTTP", "What answers at %1 does not speak HTTP.", place)
    }
    static func ledElsewhere(_ place: String, _ target: String) -> Sentence {
        Sentence("diag.ledElsewhere", "%1 leads to another host: %2", place, target)
    }
    static func answeredStatus(_ place: String, _ status: String) -> Sentence {
        Sentence("diag.status", "%1 answers: %2.", place, status)
    }
    static func answerMissing(_ place: String, _ reason: String) -> Sentence {
        Sentence("diag.answerMissing", "%1 takes the request and gives no answer: %2", place, reason)
    }
    static func credentialsWanted(_ place: String, _ schemes: String) -> Sentence {
        schemes.isEmpty
            ? Sentence("diag.credentials", "%1 wants a user name and password.", place)
            : Sentence("diag.credentialsBy", "%1 wants to know who asks, by %2.", place, schemes)
    }
    static func credentialsRefused(_ place: String, _ reason: String) -> Sentence {
        Sentence("diag.credentialsRefused", "%1 does not take the credentials: %2", place, reason)
    }
    static func clientCertificateWanted(_ place: String) -> Sentence {
        Sentence("diag.clientCertificate", "%1 wants to see a certificate of this client.", place)
    }

    static func loadFailed(_ reason: String) -> Sentence {
        Sentence("diag.loadFailed", "%1", reason)
    }

    // MARK: What cannot be looked at

    static func noPings(_ reason: String) -> Sentence {
        Sentence(
            "diag.noPings", "This machine does not let programs ping (%1); the kernel's table of neighbours was asked.",
            reason)
    }
    static let noDuplicateCheck = Sentence(
        "diag.noDuplicateCheck",
        "Whether another machine uses the same IPv4 address cannot be seen without privileges.")
    static let noCredentialsSent = Sentence(
        "diag.noCredentialsSent", "No credentials are sent by a diagnosis, so nothing behind the proxy was looked at.")
    static let noCookiesSent = Sentence(
        "diag.noCookiesSent", "No cookies are sent by a diagnosis, and this server leads in a circle without them.")
    static let noQuerySent = Sentence(
        "diag.noQuerySent", "The URL's query may hold a secret and was not sent; without it the server refuses.")
    static func noPathCheck(_ reason: String) -> Sentence {
        Sentence("diag.noPathCheck", "The way to the host could not be looked at: %1.", reason)
    }
}
