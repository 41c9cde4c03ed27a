/// The listings of the NSNetServices and CFNetServices Programming Guide, each written with NetKit under its number: A-3 is
/// `ServicesGuide.AppendixA.listing3`.
///
/// Functions that wait and sequences replace delegates and callbacks; one loop does the work of several delegate methods of the
/// guide. `swift run listing 3-1` runs one of them.
public enum ServicesGuide {}
