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
    static func nameServersFail(_ servers: String) -> Sentence {
        Sentence("diag.nameServersFail", "The name servers refuse or fail: %1.", servers)
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
    static func familyBroken(_ broken: String, _ working: String) -> Sentence {
        Sentence("diag.familyBroken", "%1 does not get through to this host; %2 does.", broken, working)
    }
    static func connectionFailed(_ place: String, _ reason: String) -> Sentence {
        Sentence("diag.connectionFailed", "%1 cannot be connected to: %2", place, reason)
    }

    // MARK: Security and answer

    static func securityFailed(_ place: String, _ reason: String) -> Sentence {
        Sentence("diag.securityFailed", "No secure connection to %1: %2", place, reason)
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
}
