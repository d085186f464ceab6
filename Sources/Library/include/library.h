/* Nothing: the contract is Include/tideline.h. */
